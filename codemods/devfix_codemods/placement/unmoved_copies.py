"""Copies of batches that hold what the batch holds, as it is, where the device is at hand: a move was lost there."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.items import choices, whole
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.annotations import says_placeless
from devfix_codemods.placement.unused_devices import UnusedDevices

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

COPIED = "copied-beside-device"
"""The link of what is put as it is into a copy: `{name: value for name, value in batch.items()}`."""


def unmoved_copies(births: "Births", devices: UnusedDevices) -> None:
    """What is copied as it is belongs on the one device that a function does not use otherwise, or where a copy that
    is made of the same value on another path has its parts."""
    for function in births.module.functions:
        copied = list(_copied(births, function))
        if copied and (device := devices.only_unused(function)) is not None:
            devices.left(device, copied, COPIED)
        for one, device in _moved_otherwise(births, function, copied):
            births.beside_moved(one, None, COPIED)
            births.wanted_at(device)
            births.graph.supports(one, device, "moved-in-other-copy", one.guard)


def _copied(births: "Births", function: Function) -> Iterator[Node]:
    for made in function.nodes:
        if made.op is not Op.COMPREHENSION or not _takes_all(made.syntax):
            continue
        element = whole(made.args[0], {Op.ITEM})
        if element.op is not Op.ITER:
            continue
        batch = element.args[0]
        known = births.kinds.of(batch) in _HOLDING and births.kinds.of(element) in _MOVABLE
        if known and any(map(_is_given, choices(batch))):
            yield made.args[0]


def _is_given(batch: Node) -> bool:
    """Whether a function is given a value, that may hold tensors, or a loop gives it."""
    annotation = getattr(batch.syntax, "annotation", None) if batch.op is Op.PARAM else None
    said = annotation is not None and says_placeless(annotation)
    return whole(batch).op in {Op.PARAM, Op.ITER} and not said


def _takes_all(copy: object) -> bool:
    """Whether a comprehension takes all there is, and each under its own key."""
    match copy:
        case ast.ListComp(elt=element, generators=[ast.comprehension(target=ast.Name(), ifs=[])]):
            return _is_part(element)
        case ast.DictComp(
            key=ast.Name(id=key),
            value=element,
            generators=[ast.comprehension(target=ast.Tuple(elts=[ast.Name(id=kept), ast.Name()]), ifs=[])],
        ):
            return key == kept and _is_part(element)
    return False


def _is_part(element: ast.expr) -> bool:
    """`value`, or `value[:, :size]`, which no list can be asked for."""
    match element:
        case ast.Name() | ast.Subscript(value=ast.Name(), slice=ast.Tuple(elts=[*_, ast.Slice()])):
            return True
    return False


def _moved_otherwise(births: "Births", function: Function, copied: list[Node]) -> Iterator[tuple[Node, Node]]:
    """What is copied as it is, with the device to which another copy of the same value takes its parts:
    `{name: value.to(device) …}` of a mapping, and `[value for value in batch]` of a list."""
    if not copied:
        return
    made = (one.args[0] for one in function.nodes if one.op is Op.COMPREHENSION)
    moves = {one: element for one in made if one in births.moves and (element := whole(one, _WITHIN)).op is Op.ITER}
    for one in copied:
        for move, element in moves.items():
            device = births.moves[move].node if births.is_elsewhere(move) else None
            is_same = not set(choices(whole(one).args[0])).isdisjoint(choices(element.args[0]))
            if device is not None and is_same and contradictory(one.guard, move.guard):
                yield one, device


_WITHIN = frozenset({Op.CALL, Op.ATTR, Op.ITEM})
_MOVABLE = frozenset({None, Kind.TENSOR})
_HOLDING = _MOVABLE | {Kind.MAPPING, Kind.SEQUENCE}
