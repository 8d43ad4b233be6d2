"""Literals under which nothing is on a device: where those do not hold under which the program moves values."""

import ast
import re
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.guards import comparison
from devfix_codemods.ir.keys import key, name
from devfix_codemods.ir.nodes import ALWAYS, Literal
from devfix_codemods.placement.calls import bound
from devfix_codemods.placement.places import Place, Where

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

_OF_DEVICES = re.compile(r"(?i)cuda|[cghnx]pu|mps|device|accelerat|nccl|'(?:yes|y|true|on|1)'")
"""In names and texts: devices, and answers to a question that may be one for a device."""
_AVAILABILITY = frozenset({"torch.cuda.is_available", "torch.accelerator.is_available"})


def flags(births: "Births") -> None:
    """`if use_cuda: x = x.cuda()`: where the flag does not hold, all is on the host, and rightly so."""
    moved = [one for one in _moves(births) if one[0].where is Where.DEVICE]
    used = ALWAYS.union(*(guard for _, guard in moved))
    for place, guard in moved:
        device = key(place.node) if place.node is not None and place.node.op is not Op.CONST else None
        for atom, holds in guard:
            lacks = isinstance(atom, tuple) and atom[0] == "raised"  # what has no `.to` is no tensor
            asks = device is None and not _chooses(atom)
            if asks or lacks or (isinstance(atom, tuple) and device in atom):
                births.graph.host_only.add((atom, not holds))
    asking = (node for op in (Op.CALL, Op.ATTR, Op.COMPARE) for node in births.module.of(op))
    births.graph.host_only |= {one for node in asking for one in _asked(node)}
    births.graph.host_only |= {(key(node), False) for node in _tested(births) if _says_accelerator(births, node)}
    births.graph.host_only -= used  # each branch of a choice may move to a device of its own


def _chooses(atom: Hashable) -> bool:
    """Whether a test finds a text where neither side speaks of devices: it chooses what to do, and not where."""
    match atom:
        case ("since", _, inner):
            return _chooses(inner)
        case ("or", *parts):
            return all(_chooses(each) for part in parts if isinstance(part, frozenset) for each, _ in part)
        case ("compare", "Eq", _, ("const", str(constant))):
            return constant[:1] in "'\"" and _OF_DEVICES.search(repr(atom)) is None
    return False


def _moves(births: "Births") -> Iterator[tuple[Place, Guard]]:
    """Each move of the file, by what is called as well, and the condition that a value is moved under."""
    for root, moves in births.movers.items():
        for move in moves:
            place = births.place_of_move(move)
            if place is not None:
                yield place, move.guard - _earliest(root)
    for call, called in births.calls.items():
        places = [births.moves[value] for value, _ in called.returns if value in births.moves]
        for place in places:
            yield place, call.guard.difference(*(argument.guard for argument, _ in bound(call, called)))


def _asked(node: Node) -> Iterator[Literal]:
    """`torch.cuda.is_available()`, `x.is_cuda` and `x.device.type == "cpu"`: what is asked of the place of values."""
    if (node.op is Op.CALL and name(node.args[0]) in _AVAILABILITY) or (node.op is Op.ATTR and node.extra == "is_cuda"):
        yield key(node), False
    elif node.op is Op.COMPARE and len(node.args) == 2 and node.extra in {("Eq",), ("NotEq",)}:
        left, right = node.args
        if left.op is Op.ATTR and left.extra in {"type", "device"} and right.op is Op.CONST and right.extra == "cpu":
            yield comparison(node)[0], True


def _tested(births: "Births") -> Iterator[Node]:
    """The names and attributes that conditions of the file read."""
    guards = {node.guard for node in births.module.nodes()}
    atoms = {atom for guard in guards for atom, _ in guard}
    known = (node for node in births.module.nodes() if node.op in _NAMED)
    return (node for node in known if key(node) in atoms)


def _says_accelerator(births: "Births", node: Node, depth: int = 0) -> bool:
    """Whether a flag that is not set says that there is no accelerator, or that none is wanted: it is passed on from
    `torch.cuda.is_available()`, or from a conjunction with that."""
    if node.op is Op.CALL and name(node.args[0]) in _AVAILABILITY:
        return True
    before = [one for one in births.origins.before(node) if one is not node] if depth < _DEEPEST else []
    found = (_says_accelerator(births, one, depth + 1) for one in before)
    joined = node.op is Op.PHI and isinstance(node.syntax, ast.BoolOp) and isinstance(node.syntax.op, ast.And)
    return any(found) if joined else bool(before) and all(found)


_NAMED = frozenset({Op.PARAM, Op.GLOBAL, Op.ATTR, Op.PHI})
_DEEPEST = 6


def _earliest(root: Node) -> Guard:
    """The condition under which what a move starts from is there: of what is computed, its operands or its whole."""
    guard = root.guard
    if root.op in _COMPUTED:
        for one in root.args:
            guard &= _earliest(one)
    return guard


_COMPUTED = frozenset({Op.OPERATION, Op.ITEM, Op.ITER, Op.ATTR})
