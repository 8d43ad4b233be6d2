"""Cuts for tensors and arrays that are made where nothing says a device."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.ir import Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import has_device
from devfix_codemods.placement.graph import Turn
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.attributes import Kept, as_buffer, kept
from devfix_codemods.repairs.averaged import taken_along
from devfix_codemods.repairs.caches import is_kept_for_all
from devfix_codemods.repairs.cut import UNSAFE, Cut, as_of, behind_list, behind_making, with_keyword
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.indexed import index_copied, stays
from devfix_codemods.repairs.module_values import at_reads
from devfix_codemods.repairs.points import before
from devfix_codemods.repairs.readers import wanted_on_host
from devfix_codemods.repairs.sibling_moves import behind_birth, beside_sibling, in_display, in_row
from devfix_codemods.repairs.sums import added_anew
from devfix_codemods.repairs.unpacked import unpacked
from devfix_codemods.repairs.uses import moved_at_uses
from devfix_codemods.repairs.wrapped import at_call, at_meeting, wrapped
from devfix_codemods.source import Source

BUFFERS = (1, 6)
"""The torch that brought `persistent=` to `register_buffer`."""
MASKS = (2, 0)
"""The torch that brought `device=` to `Transformer.generate_square_subsequent_mask`."""


def factory(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """Made on the device, if that has a name there; else moved where it has."""
    yield from _left_there(analysis, source, conflict)
    if (loaded := _loaded(conflict)) is not None:
        yield from wrapped(analysis, source, loaded)
        return
    node = conflict.birth.node
    call = node.syntax
    if not isinstance(call, ast.Call):
        return
    if is_kept_for_all(analysis, node):
        yield from at_meeting(analysis, source, conflict)
        return
    yield from in_display(analysis, source, conflict)
    point = before(node)
    for suffix in suffixes(analysis, conflict, point) if point is not None else ():
        if suffix.device is not None:
            if not _is_name(suffix.device):  # then what is near to the model can say more
                yield from unpacked(analysis, source, conflict)
            edit = with_keyword(source, call, suffix.device, "device")
            since = MASKS if _is_mask(call) else None
            yield Cut((edit, *suffix.edits), f"Make it on `{suffix.device}`", since=since, harmless=suffix.follows)
        elif suffix.test is not None:
            yield from behind_making(source, conflict, suffix)
            if suffix.text.startswith((".to(", ".cuda(")) and "," not in suffix.text:
                yield Cut((with_keyword(source, call, suffix.chosen, "device"),), f"Make it on `{suffix.chosen}`")
    yield from at_call(analysis, source, conflict)
    yield from unpacked(analysis, source, conflict)
    yield from _where_unpacked(analysis, source, conflict)
    yield from in_row(source, conflict)
    yield from at_meeting(analysis, source, conflict)
    yield from beside_sibling(analysis, source, conflict)
    yield from at_meeting(analysis, source, conflict, itself=True)
    yield from added_anew(source, conflict)
    yield from at_reads(analysis, source, conflict)


def array(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """Moved behind the call that makes it, which takes no device."""
    yield from _left_there(analysis, source, conflict)
    if has_device(conflict.birth.node):  # which it does not take
        yield from filter(None, (_without_device(source, conflict.birth.node.syntax),))
        return
    if isinstance(conflict.birth.node.syntax, ast.Name):  # unpacked of what gives others as well
        yield from behind_birth(analysis, source, conflict)
        return
    yield from in_display(analysis, source, conflict)
    yield from wrapped(analysis, source, conflict)
    yield from unpacked(analysis, source, conflict)
    yield from taken_along(analysis, source, conflict)
    yield from _where_unpacked(analysis, source, conflict)
    point = before(conflict.birth.node)
    for suffix in suffixes(analysis, conflict, point) if point is not None else ():
        if suffix.test is not None:
            yield from behind_list(source, conflict, suffix)


def _where_unpacked(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`states, actions = memory.sample(n)`: what a function gives is moved where its caller has a name for it."""
    for at, step in enumerate(conflict.path):
        if step.edge.link == "element":
            return  # a list that holds it has no `.to`
        if step.edge.site < 0 and step.edge.turn is Turn.UP and step.node.op is Op.ITEM:
            if isinstance(step.node.syntax, ast.Name):
                there = as_of(conflict, at)
                cuts = chain(beside_sibling(analysis, source, there), behind_birth(analysis, source, there))
                yield from (replace(one, at_call=True) for one in cuts)
            return


def _is_mask(call: ast.Call) -> bool:
    """`self.transformer.generate_square_subsequent_mask(n)`"""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "generate_square_subsequent_mask"


def _is_name(device: str) -> bool:
    """Whether a device is one that the program has a name for, and is not spelled out."""
    return isinstance(ast.parse(device, mode="eval").body, ast.Name | ast.Attribute)


def _loaded(conflict: Conflict) -> Conflict | None:
    """The conflict of what is loaded, where a file is all that has been made: others may read that as well."""
    for at, step in enumerate(conflict.path):
        if step.edge.link == "loaded-again" and step.edge.turn is Turn.UP:
            return as_of(conflict, at)
    return None


def _without_device(source: Source, call: ast.AST | None) -> Cut | None:
    """`torch.Tensor([1.0]).to(d)` for `torch.Tensor([1.0], device=d)`: it takes no device but the host, and no type."""
    if not isinstance(call, ast.Call) or "#" in source.segment(source.span(call)):
        return None
    given = {one.arg: source.segment(source.span(one.value)) for one in call.keywords}
    if "device" not in given or not given.keys() <= {"device", "dtype", None}:
        return None
    device = given["device"]
    told = f"{device}, dtype={given['dtype']}" if "dtype" in given else device
    function, *texts = (source.segment(source.span(one)) for one in (call.func, *call.args))
    texts += [f"**{given[None]}"] if None in given else []
    edit = ReplaceExpression(source.span(call), f"{function}({', '.join(texts)}).to({told})")
    return Cut((edit,), f"Move it behind the constructor, which takes no device: `.to({device})`")


def _left_there(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """What is not moved where it is made: a table that stays, what an object keeps."""
    if stays(analysis, conflict) or wanted_on_host(analysis, conflict):
        yield from index_copied(source, conflict)
    yield from _attribute(analysis, source, conflict)


def _attribute(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """A tensor that an object keeps: a buffer, which moves with its module; else a move where it is used."""
    found = kept(analysis, conflict)
    if found is None:
        return
    if conflict.end.place.where not in {Where.MODULE, Where.CALLER}:
        yield from _begun_often(analysis, source, found, conflict)
        return
    buffer = as_buffer(analysis, source, found)
    if buffer is not None:
        title = f"Register `{buffer.name}` as a buffer that is not saved (`persistent=False`)"
        harmless = buffer.whole and conflict.confidence >= UNSAFE
        yield Cut(buffer.edits, title, sure=buffer.whole, harmless=harmless, since=BUFFERS)
        return
    if not analysis.births.defaults.managed:
        moved = moved_at_uses(analysis, source, found, conflict)
        if moved is not None:
            title = f"Move `{found.name}` to `{moved.device}` where it is used"
            yield Cut(moved.edits, title, sure=moved.sure, harmless=found.owner in analysis.kinds.module_classes)


def _begun_often(analysis: Analysis, source: Source, attribute: Kept, conflict: Conflict) -> Iterator[Cut]:
    """What several methods make anew follows what it meets."""
    made = {function for function, store in attribute.stores if analysis.graph.sources.get(store.value)}
    moved = moved_at_uses(analysis, source, attribute, conflict) if len(made) > 1 else None
    if moved is not None and moved.device.endswith(".device"):
        title = f"Move `{attribute.name}` to `{moved.device}` where it is used"
        yield Cut(moved.edits, title, sure=moved.sure, harmless=True)
