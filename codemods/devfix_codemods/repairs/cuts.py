"""Where a conflict is cut: by the kind of birth, as near to the birth as a device can be named."""

import ast
from collections.abc import Iterator
from itertools import islice, takewhile

from devfix_codemods.catalogue import Kind, canonical, effect
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import method_name, names
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.elements import does_to_tensor
from devfix_codemods.placement.graph import MADE, Birth
from devfix_codemods.placement.graph import Source as Placed
from devfix_codemods.placement.naming import sounds_like_class
from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.tensors_by_use import is_no_array
from devfix_codemods.placement.unregistered import UNREGISTERED
from devfix_codemods.repairs.averaged import taken_along
from devfix_codemods.repairs.callers import suits_callers
from devfix_codemods.repairs.containers import registered
from devfix_codemods.repairs.cut import SAFE, SUGGESTION, TOO_WEAK, UNSAFE, Cut, follows_at_hand
from devfix_codemods.repairs.elements import element
from devfix_codemods.repairs.factories import array, factory
from devfix_codemods.repairs.host_callers import leaves_half, meets_encoding, meets_host, operands_left
from devfix_codemods.repairs.late_moves import before_copy
from devfix_codemods.repairs.modules import beside_kept, beside_module, made_module, where_given, where_unpacked
from devfix_codemods.repairs.nearby_tensors import asks_factor
from devfix_codemods.repairs.readers import copies, wanted_on_host
from devfix_codemods.repairs.repeated_moves import moved_again
from devfix_codemods.repairs.script_names import reads_script_name
from devfix_codemods.repairs.sibling_moves import behind_birth, beside_sibling
from devfix_codemods.repairs.siblings import like_siblings
from devfix_codemods.repairs.soundness import is_sound, moves_row
from devfix_codemods.repairs.tensors import is_surely_tensor
from devfix_codemods.repairs.wrapped import at_call, wrapped
from devfix_codemods.source import Source

HARMLESS = 0.8, 0.42
"""`SAFE` and `UNSAFE` of what changes nothing where the finding is none: following a tensor, a copy for numpy."""

TOGETHER = 0.9
"""How surely two tensors meet of which one may follow the other, wherever that is: this changes nothing that works."""

MOST_CUTS = 6
"""How many cuts are tried for one that suits all callers."""

MOST_OPERANDS = 4
"""Through how many operands one safe fix may depend on another."""


def repair(analysis: Analysis, source: Source, conflict: Conflict) -> Fix | None:
    """The fix of a conflict, as far as it may be trusted; None where no move can stand."""
    end = conflict.end.node
    if conflict.end.birth is Birth.PARAMETER and end.op is Op.PARAM and analysis.is_plain(end):
        return None
    if meets_host(analysis, conflict):
        return None
    cut = _first(analysis, source, conflict)
    if cut is None or (conflict.birth.birth is Birth.READER and _gets_array(analysis, conflict.birth.node)):
        return None
    if _made_beside(analysis, source, conflict, cut):
        return None
    safety = _safety(analysis, conflict, cut)
    if safety is Safety.SAFE and (
        leaves_half(analysis, conflict, lambda one: _is_written(analysis, source, one))
        or operands_left(analysis, conflict, cut, lambda one: _is_safe(analysis, source, one, (conflict.birth,)))
    ):
        safety = Safety.UNSAFE
    if (
        safety is Safety.UNSAFE
        and (
            leaves_half(analysis, conflict, lambda one: _has_cut(analysis, source, one))
            or operands_left(analysis, conflict, cut, lambda one: _is_written(analysis, source, one))
        )
    ) or meets_encoding(analysis, conflict, lambda one: _is_written(analysis, source, one)):
        safety = Safety.SUGGESTION
    if safety is Safety.SUGGESTION and conflict.birth.birth is Birth.READER and _may_be_array(analysis, conflict):
        return None  # a copy of an array fails, and weak evidence is against more than that
    if safety is Safety.SUGGESTION and _is_too_weak(conflict, cut):
        return Fix(Safety.MANUAL, cut.title)
    return Fix(safety, cut.title, cut.edits, since=cut.since, effect=cut.effect)


def left_behind(analysis: Analysis, source: Source, conflict: Conflict) -> Node | None:
    """What would have to move as well, and has no move, of a value that surely is misplaced: it has no repair then."""
    if conflict.confidence < SAFE or conflict.is_supported or (cut := _first(analysis, source, conflict)) is None:
        return None
    left = _made_beside(analysis, source, conflict, cut)
    return min((one.node for one in left), key=lambda one: one.index, default=None)


def _made_beside(analysis: Analysis, source: Source, conflict: Conflict, cut: Cut) -> list[Placed]:
    """The other operands that are made on the host, and that no fix moves."""
    left = operands_left(analysis, conflict, cut, lambda one: _is_told(analysis, source, one))
    return [one for one in left if one.birth in MADE]


def _is_safe(analysis: Analysis, source: Source, conflict: Conflict, behind: tuple[Placed, ...]) -> bool:
    """Whether a conflict has a safe fix, also by the operands that it would leave, but for those it is `behind`."""
    cut = _first(analysis, source, conflict)
    if cut is None or not _fixed(analysis, source, conflict)[1] or len(behind) > MOST_OPERANDS:
        return False

    def is_safe(other: Conflict) -> bool:
        return other.birth in behind or _is_safe(analysis, source, other, (*behind, conflict.birth))

    return not operands_left(analysis, conflict, cut, is_safe)


def _is_told(analysis: Analysis, source: Source, conflict: Conflict) -> bool:
    """Whether a conflict is shown with what to do, be it by hand."""
    return conflict.confidence >= SUGGESTION and _first(analysis, source, conflict) is not None


def _has_cut(analysis: Analysis, source: Source, conflict: Conflict) -> bool:
    """Whether a conflict is shown with a fix, be it a suggestion."""
    cut = _first(analysis, source, conflict) if conflict.confidence >= SUGGESTION else None
    return cut is not None and (not _is_too_weak(conflict, cut) or _is_written(analysis, source, conflict))


def _is_too_weak(conflict: Conflict, cut: Cut) -> bool:
    """Whether a suggestion has no edit: it follows nothing that is at hand, and rests on what misleads often."""
    return not follows_at_hand(cut) and not TOO_WEAK.isdisjoint(conflict.links)


def _is_written(analysis: Analysis, source: Source, conflict: Conflict) -> bool:
    """Whether a conflict has a fix that is more than a suggestion."""
    return _fixed(analysis, source, conflict)[0]


def _fixed(analysis: Analysis, source: Source, conflict: Conflict) -> tuple[bool, bool]:
    """Whether a conflict has by itself a fix that is more than a suggestion, and one that is safe."""
    if conflict not in analysis.written:
        cut = _first(analysis, source, conflict)
        safety = _safety(analysis, conflict, cut) if cut is not None else None
        analysis.written[conflict] = safety not in {None, Safety.SUGGESTION}, safety is Safety.SAFE
    return analysis.written[conflict]


def _safety(analysis: Analysis, conflict: Conflict, cut: Cut) -> Safety:
    harmless = cut.harmless and not _is_asked_by_unread(analysis, conflict)
    safe, unsafe = HARMLESS if harmless and not conflict.is_supported else (SAFE, UNSAFE)
    confidence = conflict.confidence
    if (
        (wanted_on_host(analysis, conflict) and not cut.copies and not cut.with_whole)
        or not is_surely_tensor(analysis, conflict)
        or not suits_callers(analysis, conflict, at_call=cut.at_call)
        or asks_factor(analysis, conflict, [cut.title])
    ):
        return Safety.SUGGESTION
    follows = harmless and not conflict.is_supported and conflict.birth.birth is not Birth.READER
    if cut.sure and (confidence >= safe or (follows and conflict.together >= TOGETHER)):
        return Safety.SAFE
    return Safety.UNSAFE if confidence >= unsafe else Safety.SUGGESTION


def _is_asked_by_unread(analysis: Analysis, conflict: Conflict) -> bool:
    """Whether only an unread function says that values belong together: it may want one of them where it is."""
    if conflict.birth.birth is Birth.READER:  # a copy on the host is one for whatever reads it, if it was a tensor
        return "unread-function" in conflict.links or _may_be_array(analysis, conflict)
    return not {"unknown-call", "made-for-call", "index-maybe-scalar"}.isdisjoint(conflict.links)


def _may_be_array(analysis: Analysis, conflict: Conflict) -> bool:
    """Whether a function of numpy reads what nothing shows to be a tensor: an array has no `.cpu()`."""
    reader = conflict.birth.by
    if reader is not None and method_name(reader) == "numpy":
        return False
    if conflict.path[:1] and conflict.path[0].edge.link == "call" and conflict.end.birth is Birth.PARAMETER:
        return True  # what a function gives that others use for tensors
    if "copied-itself" in conflict.links:
        return False
    if any(analysis.kinds.says(one, Kind.ARRAY) for one in _made_of(conflict.birth.node)):
        return True
    if reader is not None and _is_of_arrays(reader) and _may_be_given_array(analysis, conflict.birth.node):
        return True
    return analysis.kinds.of(conflict.birth.node) not in _COPIED and not _is_of_moved(analysis, conflict)


def _gets_array(analysis: Analysis, read: Node) -> bool:
    """Whether a caller in this file gives an array for what is read, or a class of another file makes it: that has no
    `.cpu()`, wherever others are."""
    found = [*_made_of(read)]
    if any(map(_is_of_unread_class, found)):
        return True
    for one in found:  # grows
        given = analysis.kinds.given.get(one, ())
        found += (each for value in given for each in _made_of(value) if each not in found)
    return any(analysis.kinds.of(one) is Kind.ARRAY for one in found)


def _is_of_unread_class(value: Node) -> bool:
    """`Mask.ones_like(net)`: an object that a class of another file makes, whose `numpy` may give anything."""
    callee = value.args[0] if value.op is Op.CALL else value
    made = callee.args[0] if callee.op is Op.ATTR else callee
    unread = not any(effect(canonical(one)) is not None or one.startswith("torch.") for one in names(callee))
    return value.op is Op.CALL and unread and bool(names(made)) and sounds_like_class(made)


def _is_of_arrays(reader: Node) -> bool:
    """Whether a function is one of a library that computes with arrays."""
    return any(one.partition(".")[0] in _OF_ARRAYS for one in names(reader.args[0]))


def _may_be_given_array(analysis: Analysis, node: Node) -> bool:
    """Whether nothing shows that a parameter gets a tensor, and no array, be it annotated as one: people call arrays so
    as well, but then do nothing with them that is done with tensors."""
    found = [node]
    for one in found:  # grows
        if one.op is not Op.PARAM or is_no_array(analysis.kinds, one):
            return False
        used = any(does_to_tensor(user, one) for user in analysis.module.users.get(one, ()))
        if used and "Tensor" in ast.unparse(getattr(one.syntax, "annotation", None) or ast.Constant(None)):
            return False
        found += (each for each in analysis.kinds.given.get(one, ()) if each not in found)
    return True


def _made_of(value: Node) -> Iterator[Node]:
    """A value, and what it is a part of, compares, or is a view of: `probs[:, 1:] > least`, `rows.reshape(-1)`."""
    yield value
    while value.op in {Op.ITEM, Op.COMPARE, Op.OPERATION} or method_name(value) in _VIEWS:
        value = value.args[0].args[0] if value.op is Op.CALL else value.args[0]
        yield value


_VIEWS = frozenset({"reshape", "squeeze", "transpose", "flatten", "ravel", "view"})
"""Methods that arrays and tensors have."""
_OF_ARRAYS = frozenset({"numpy", "cv2", "scipy", "skimage", "sklearn", "pandas"})
_COPIED = frozenset({Kind.TENSOR, Kind.SEQUENCE})


def _is_of_moved(analysis: Analysis, conflict: Conflict) -> bool:
    """Whether a value is what a move gave, or a part of it."""
    parts = [conflict.birth.node, *(one.node for one in takewhile(lambda one: one.edge.link in _PARTS, conflict.path))]
    return any(map(analysis.births.is_move, parts))


_PARTS = frozenset({"part", "element", "view", "loop"})


def _first(analysis: Analysis, source: Source, conflict: Conflict) -> Cut | None:
    """The best cut; of a module that a function makes, one that suits all callers if there is such."""
    first = None
    for one in islice(_cuts(analysis, source, conflict), MOST_CUTS):
        if conflict.birth.birth is not Birth.MODULE or suits_callers(analysis, conflict, at_call=one.at_call):
            return one
        first = first or one
    return first


def _cuts(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    cuts = _BY_BIRTH[conflict.birth.birth](analysis, source, conflict)
    named = (one for one in cuts if not any(reads_script_name(analysis, edit) for edit in one.edits))
    sound = (one for one in named if is_sound(source, conflict, one))
    return (one for one in sound if not moves_row(analysis, source, conflict, one))


def _array(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    yield from before_copy(analysis, source, conflict)
    yield from array(analysis, source, conflict)


def _module(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    if UNREGISTERED in conflict.birth.links:
        yield from registered(analysis, source, conflict)
        return
    yield from before_copy(analysis, source, conflict)
    yield from moved_again(analysis, source, conflict)
    yield from beside_module(analysis, source, conflict)
    if conflict.birth.node.op is Op.ITEM:
        yield from beside_sibling(analysis, source, like_siblings(analysis, conflict))
        yield from beside_sibling(analysis, source, conflict)
        yield from behind_birth(analysis, source, conflict)
        return
    yield from beside_kept(analysis, source, conflict)
    yield from made_module(analysis, source, conflict)
    yield from at_call(analysis, source, conflict)
    yield from where_unpacked(analysis, source, conflict)
    yield from taken_along(analysis, source, conflict)
    yield from where_given(analysis, source, conflict)


_BY_BIRTH = {
    Birth.FACTORY: factory,
    Birth.ARRAY: _array,
    Birth.LOADER: element,
    Birth.SIBLING: element,
    Birth.ENCODING: wrapped,
    Birth.MODULE: _module,
    Birth.READER: copies,
}


__all__ = ["SAFE", "SUGGESTION", "UNSAFE", "left_behind", "repair"]
