"""Tests that ask where a value is: on the path where the answer is the host, nothing is misplaced."""

import re
from collections.abc import Iterator

from devfix_codemods.ir import Module, Node, Op
from devfix_codemods.ir.guards import comparison
from devfix_codemods.ir.keys import key
from devfix_codemods.ir.nodes import Literal
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.naming import is_device_text
from devfix_codemods.placement.places import HOST, place_of


def host_tests(module: Module, kinds: Kinds) -> Iterator[Literal]:
    """The literals under which a value that the code asks for its place is on the host."""
    for node in module.of(Op.ATTR):
        if node.extra == "is_cpu":
            yield key(node), True
    for node in module.of(Op.COMPARE):
        if len(node.args) == 2 and _asks_for_place(node.args[0], kinds):
            if place_of(node.args[1], kinds) == HOST:
                yield comparison(node)[0], True
            elif node.args[1].op is Op.CONST and is_device_text(node.args[1].extra):
                yield comparison(node)[0], False
        elif len(node.args) == 2 and _is_type_on_host(*node.args):
            yield comparison(node)[0], True


def _is_type_on_host(asked: Node, named: Node) -> bool:
    """`x.type() == "torch.FloatTensor"`"""
    asks = (
        asked.op is Op.CALL and len(asked.args) == 1 and asked.args[0].op is Op.ATTR and asked.args[0].extra == "type"
    )
    text = named.extra if named.op is Op.CONST else None
    return asks and isinstance(text, str) and re.fullmatch(r"torch\.\w*Tensor", text) is not None


def _asks_for_place(left: Node, kinds: Kinds) -> bool:
    """`x.device.type`, `x.device`, `device.type`"""
    asked = left.args[0] if left.op is Op.ATTR and left.extra == "type" else left
    if asked is not left and place_of(asked, kinds) is not None:
        return True
    return asked.op is Op.ATTR and asked.extra == "device"
