"""Tests that ask where a value is: on the path where the answer is the host, nothing is misplaced."""

from collections.abc import Iterator

from devfix_codemods.ir import Module, Node, Op
from devfix_codemods.ir.guards import comparison
from devfix_codemods.ir.keys import key
from devfix_codemods.ir.nodes import Literal
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.places import HOST, place_of


def host_tests(module: Module, kinds: Kinds) -> Iterator[Literal]:
    """The literals under which a value that the code asks for its place is on the host."""
    for node in module.nodes():
        if node.op is Op.ATTR and node.extra == "is_cpu":
            yield key(node), True
        elif node.op is Op.COMPARE and len(node.args) == 2 and _asks_for_host(*node.args, kinds):
            yield comparison(node)


def _asks_for_host(left: Node, right: Node, kinds: Kinds) -> bool:
    """`x.device.type == "cpu"`, `x.device == torch.device("cpu")`, and their negations."""
    asked = left.args[0] if left.op is Op.ATTR and left.extra == "type" else left
    return asked.op is Op.ATTR and asked.extra == "device" and place_of(right, kinds) == HOST
