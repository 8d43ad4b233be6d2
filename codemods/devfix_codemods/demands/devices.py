"""Where values surely are, and what a program may mean by a device."""

import ast
from collections.abc import Iterator, Set

from devfix_codemods.assumptions.index import Index, called
from devfix_codemods.edits.quotes import unquoted
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.arguments import keyword
from devfix_codemods.placement.naming import is_device_text
from devfix_codemods.placement.places import HOST, Place, Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.wanted_on_host import HOST_WINS
from devfix_codemods.repairs.points import before
from devfix_codemods.repairs.spelling import spelled

SURE = 0.8
"""How strong what says that a value is on a device has to be."""


def place_where(index: Index, node: Node, by: Node, asked_for: Set[Node] = frozenset()) -> Place | None:
    """Where a value is that `by` reads: on a device, the host, or wherever a caller put it; None where nobody knows.

    `asked_for` are the values that are known to be where this one is, of which nothing is to be learnt.
    """
    if node in asked_for:
        return None
    said = [one for one in index.analysis.says_where(node, by) if _tells(one, by)]
    if not said:
        return None
    best = said[0]
    where = best.end.place.where
    if where is Where.HOST:
        return HOST
    if where is not Where.DEVICE:
        return Place(Where.CALLER, node)
    asked = _asked(index, best.end.place.node)
    if asked is not None:
        return place_where(index, asked, by, asked_for | {node})
    host = (one.confidence for one in said if one.end.place == HOST)
    sure = best.confidence >= SURE and max(host, default=0) < HOST_WINS * best.confidence
    return best.end.place if sure else None


def is_elsewhere(index: Index, place: Place | None) -> bool:
    """Whether a place is a device that the program itself chooses; what a caller says may be the host."""
    if place is None or place.where is not Where.DEVICE:
        return False
    return place.node is None or may_be_accelerator(index, place.node)


def _asked(index: Index, device: Node | None) -> Node | None:
    """`other` of `other.device`, which is wherever that is; an object of this file has chosen its own."""
    if device is None or device.op is not Op.ATTR or device.extra != "device":
        return None
    return device.args[0] if index.analysis.kinds.class_of(device.args[0]) is None else None


def _tells(said: Conflict, by: Node) -> bool:
    """Whether something says more than what is demanded: data sets, and what the reader gives, are held to it."""
    return said.end.links != ("kept-in-dataset",) and all(step.node is not by for step in said.path)


def words(index: Index, place: Place, at: Node) -> str:
    """A place as messages name it, for what stands at `at`."""
    node, point = place.node, before(at)
    named = spelled(index.analysis, node, point) if node is not None and point is not None else None
    if named is None and node is not None and isinstance(node.syntax, ast.expr):
        named = index.analysis.text(node.syntax)
    named = unquoted(named or "cuda")
    if place.where is Where.CALLER:
        return f"where `{named}` is"
    return "on the host" if place == HOST else f"on `{named}`"


def meanings(index: Index, device: Node) -> Iterator[Node]:
    """What a device may be, as far as it can be read: texts, numbers, what a caller says."""
    for one in index.origins.of(device):
        if called(one, "torch.device", "builtins.str") and len(one.args) > 1:
            yield from meanings(index, one.args[1])
        else:
            yield one


def may_be_accelerator(index: Index, device: Node) -> bool:
    """Whether the program itself chooses an accelerator, now or under some condition."""
    return any(_names_device(one) and not is_host(one) for one in meanings(index, device))


def may_be_host(index: Index, device: Node) -> bool:
    """Whether the program itself chooses the host, now or under some condition."""
    return any(map(is_host, meanings(index, device)))


def is_host(node: Node) -> bool:
    return node.op is Op.CONST and str(node.extra).partition(":")[0] == "cpu"


def _names_device(node: Node) -> bool:
    number = node.op is Op.CONST and isinstance(node.extra, int) and not isinstance(node.extra, bool)
    return number or (node.op is Op.CONST and is_device_text(node.extra)) or called(node, "torch.cuda.current_device")


def device_of_move(call: Node) -> Node | None:
    """The device that a call of `.to` is given."""
    given = keyword(call, "device")
    return given if given is not None else next(iter(call.args[1:]), None)
