"""Tests that ask where a value is: on the path where the answer is the host, nothing is misplaced."""

import re
from collections.abc import Iterator

from devfix_codemods.ir import Module, Node, Op
from devfix_codemods.ir.guards import comparison
from devfix_codemods.ir.keys import key, name
from devfix_codemods.ir.nodes import Literal
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.naming import is_device_text
from devfix_codemods.placement.places import HOST, place_of, sounds_like_device


def host_tests(module: Module, kinds: Kinds) -> Iterator[Literal]:
    """The literals under which a value that the code asks for its place is on the host."""
    for node in module.of(Op.ATTR):
        if node.extra == "is_cpu":
            yield key(node), True
    for node in module.of(Op.COMPARE):
        if len(node.args) == 2 and (answer := _compared(node, kinds)) is not None:
            yield comparison(node)[0], answer
    for node in module.of(Op.CALL):  # `device.type.startswith("cuda")`
        called, *given = node.args
        if called.op is Op.ATTR and called.extra == "startswith" and len(given) == 1:
            answer = _is_host(given[0], kinds)
            if answer is not None and _asks_for_place(called.args[0], kinds):
                yield key(node), answer


def _compared(node: Node, kinds: Kinds) -> bool | None:
    """Whether a comparison holds for what is on the host, where both sides are equal or the text is found."""
    left, right = node.args
    if _is_type_on_host(left, right):
        return True
    if _is_number_of_card(left) and right.op is Op.CONST:
        return _WITHOUT_CARD.get((node.extras[0], right.extra))
    if _asks_for_place(left, kinds):
        named = right.args if right.op is Op.SEQUENCE else (right,)
    elif _asks_for_place(right, kinds):
        named = (left,)
    else:
        return None
    answers = {_is_host(one, kinds) for one in named}
    return answers.pop() if len(answers) == 1 else None


def _is_number_of_card(asked: Node) -> bool:
    """`device` of `device != -1`, `args.gpu` of `args.gpu >= 0`"""
    return asked.op in {Op.PARAM, Op.GLOBAL, Op.ATTR} and sounds_like_device(str(asked.extra))


_WITHOUT_CARD: dict[tuple[object, object], bool] = {
    ("Eq", -1): True,
    ("NotEq", -1): True,
    ("Gt", -1): False,
    ("GtE", 0): False,
    ("Lt", 0): True,
}
"""What tests of the number of a card answer where that says that none is used; of `!=`, what `==` would."""


def _is_host(named: Node, kinds: Kinds) -> bool | None:
    """Whether a value names the host; None where it names nothing for certain."""
    if place_of(named, kinds) == HOST:
        return True
    return False if named.op is Op.CONST and is_device_text(named.extra) else None


def _is_type_on_host(asked: Node, named: Node) -> bool:
    """`x.type() == "torch.FloatTensor"`"""
    asks = (
        asked.op is Op.CALL and len(asked.args) == 1 and asked.args[0].op is Op.ATTR and asked.args[0].extra == "type"
    )
    text = named.extra if named.op is Op.CONST else None
    return asks and isinstance(text, str) and re.fullmatch(r"torch\.\w*Tensor", text) is not None


def _asks_for_place(left: Node, kinds: Kinds) -> bool:
    """`x.device.type`, `x.device`, `device.type`, `str(device)`"""
    if left.op is Op.CALL and len(left.args) == 2 and name(left.args[0]) == "builtins.str":
        return place_of(left.args[1], kinds) is not None
    asked = left.args[0] if left.op is Op.ATTR and left.extra == "type" else left
    if asked is not left and place_of(asked, kinds) is not None:
        return True
    return asked.op is Op.ATTR and asked.extra == "device"
