"""A tensor from a data loader never reaches the model's device.

## What it does

Finds elements of a loader's batch that stay on the host while the model, the loss or the other elements of the same
batch are on a device, and moves them where their siblings are moved, in the same style. Also finds what one path, or
one method, moves and another one does not, and tensors of which only a copy is moved, for a call, before they meet what
the call gave.

## Why it fails

Workers collate batches on the host. What the loop does not move stays there, and the first operation that needs both
raises

    RuntimeError: Expected all tensors to be on the same device, but got target is on cpu, different from other tensors
    on cuda:0 (when checking argument in method wrapper_CUDA_nll_loss_forward)

(before torch 2.8: `… but found at least two devices, cuda:0 and cpu!`).

## Before

    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        loss = criterion(model(images), labels)

## After

    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        loss = criterion(model(images), labels)

## Fix safety

Safe where the element is known to be a tensor: a sibling of the same batch is moved, or it enters a loss, tensor
arithmetic, or is used as a tensor elsewhere. A move to where a tensor already is does nothing. Unsafe where a `device`
must be declared first, where the only evidence is that the element is passed to a model, and where another branch moves
it. Elements that look like
text or lengths, code that Lightning, Accelerate or DeepSpeed place, datasets and collate functions are left alone.

## Since torch

Any.
"""

import ast
from collections.abc import Callable, Iterator

from devfix_codemods import scope
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting, Move
from devfix_codemods.flow.places import Host, may_be_device
from devfix_codemods.flow.tables import sounds_like_length, sounds_like_text
from devfix_codemods.flow.values import BatchItem, Birth, Kind
from devfix_codemods.placement import graph
from devfix_codemods.placement.search import Conflict
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._batch_moves import (
    birth_node,
    device_in,
    element_fix,
    is_moved_by_parts,
    name_of,
    only_passed_on,
    sibling_moves,
    whole_batch,
)
from devfix_codemods.rules._collations import goes_through, is_collated_to_list, may_be_collated_to_none
from devfix_codemods.rules._filled_items import fills_mappings, forgotten_items
from devfix_codemods.rules._inline_moves import inline_moves, moves_inside_calls
from devfix_codemods.rules._lengths import is_packed_by_model
from devfix_codemods.rules._lent import lends, lent_tensors
from devfix_codemods.rules._looks import moves_loop_items
from devfix_codemods.rules._moved_in_helper import fix_in_helper
from devfix_codemods.rules._moves import copied_suffix, device_words, enters_call, insertable, text_of
from devfix_codemods.rules._moving_helpers import is_moved_on_the_way
from devfix_codemods.rules._one_branch import Forgotten, forgotten_moves, moves_in_one_branch
from devfix_codemods.rules._partial_moves import PartialMove, moves_tuples, partial_moves
from devfix_codemods.rules._placed_loaders import is_from_placed_loader
from devfix_codemods.rules._texts import may_be_text
from devfix_codemods.rules._twin_moves import moves_items, twin_moves


def check(program: Program) -> Iterator[Finding]:
    yield from _by_syntax(program)
    if not program.outline.moves_loop_items:
        return
    groups: dict[tuple[ast.AST, str], list[Meeting]] = {}
    for meeting in program.facts.meetings:
        batch = meeting.misplaced.value.batch
        if batch is None or meeting.misplaced.role == "module" or not insertable(meeting.context):
            continue
        if program.facts.may_be_placed(batch):
            continue  # the loader of another caller
        if is_moved_by_parts(program, meeting, batch) or is_moved_on_the_way(program, meeting, birth_node(meeting)):
            continue
        if _is_element(meeting) and not _looks_untouchable(program, meeting) and not _moved_in_vain(program, batch):
            groups.setdefault((birth_node(meeting), name_of(program, meeting)), []).append(meeting)
    whole: set[str] = set()
    for meetings in groups.values():
        finding = _finding(program, meetings, whole)
        if finding is not None:
            yield finding


def _by_syntax(program: Program) -> Iterator[Finding]:
    """What other moves in the file tell by themselves."""
    if moves_tuples(program.source.data):
        yield from (_of_helper(program, one) for one in partial_moves(program))
    if program.unit.traits.managed:
        return
    for looks, finds in _FORGOTTEN:
        if looks(program.source.data):
            yield from (_forgotten(program, one) for one in finds(program))


_FORGOTTEN: tuple[tuple[Callable[[bytes], bool], Callable[[Program], Iterator[Forgotten]]], ...] = (
    (moves_in_one_branch, forgotten_moves),
    (moves_inside_calls, inline_moves),
    (moves_items, twin_moves),
    (fills_mappings, forgotten_items),
    (lends, lent_tensors),
)


def _of_helper(program: Program, partial: PartialMove) -> Finding:
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{partial.function.name}` moves the items of a tuple, but returns a list as it is",
        span=program.source.span(partial.branch.test),
        fix=Fix(Safety.UNSAFE, "Move the items of a list as well", (partial.edit,)),
    )


def _forgotten(program: Program, one: Forgotten) -> Finding:
    there, here = one.ways
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{one.name}` is moved to `{one.device}` {there}, and stays where it is {here}",
        span=program.source.span(one.node),
        trail=(Step(program.source.span(one.move), "it is moved here"),),
        fix=Fix(Safety.UNSAFE, f"Move `{one.name}` to `{one.device}` {here} too", one.edits),
    )


def _looks(data: bytes) -> bool:
    by_syntax = (moves_tuples, moves_in_one_branch, moves_items, fills_mappings, lends)
    return any(look(data) for look in by_syntax) or moves_loop_items(data)


def _moved_in_vain(program: Program, batch: BatchItem) -> bool:
    """A move of this element whose result is thrown away: that line is the bug, and another rule's."""
    return any(
        not one.result_used
        and one.value.batch is not None
        and one.value.batch.token == batch.token
        and one.value.batch.path in {batch.path, (*batch.path[:-1], "*"), ()}
        for one in program.facts.moves
    )


def _is_element(meeting: Meeting) -> bool:
    origin = meeting.misplaced.value.origin
    return origin is not None and origin.birth is Birth.LOADER


def _looks_untouchable(program: Program, meeting: Meeting) -> bool:
    """Text, mappings, lengths, and whatever only a model call speaks for without a moved sibling."""
    value = meeting.misplaced.value
    name = _last_word(name_of(program, meeting), meeting)
    if value.kind in {Kind.STRING, Kind.MAPPING}:
        return True
    function = meeting.context.function or program.tree
    evidence = program.facts.evidence[function]
    if name in evidence.texts | evidence.plain and value.kind is not Kind.TENSOR:
        return True
    loaded = isinstance(meeting.misplaced.place, Host) or (value.batch is not None and value.batch.loaded)
    if not loaded and not enters_call(meeting):  # arithmetic alone would also do for the numbers of a plain list
        return True
    if not only_passed_on(meeting):
        return False
    path = value.batch.path if value.batch is not None else ()
    if name in program.facts.evidence[program.tree].iterated or (path and _is_mapping(program, name)):
        return True  # a list or a mapping, here or in a sibling function
    if may_be_text(program, name, meeting.node) or goes_through(program, meeting, name):
        return True
    if is_packed_by_model(program, meeting.node, name):
        return True
    birth = birth_node(meeting)
    if is_collated_to_list(program, meeting, birth) or may_be_collated_to_none(program, meeting, birth):
        return True
    return sounds_like_text(name) or sounds_like_length(name) or not _has_counterpart(program, meeting, name)


def _is_mapping(program: Program, name: str) -> bool:
    """`extra["name"]`, `extra.items()`."""
    for node in ast.walk(program.tree):
        match node:
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str())) if owner == name:
                return True
            case ast.Attribute(value=ast.Name(id=owner), attr="items" | "keys" | "values" | "get") if owner == name:
                return True
            case ast.keyword(arg=None, value=ast.Name(id=owner)) if owner == name:
                return True
    return False


def _has_counterpart(program: Program, meeting: Meeting, name: str) -> bool:
    """Something moved speaks for the element: a sibling, one of its name in another loop, or the loader's kind."""
    batch = meeting.misplaced.value.batch
    if batch is None or isinstance(meeting.misplaced.place, Host):
        return True
    moved = [one for one in program.facts.moves if one.value.batch is not None and may_be_device(one.target)]
    return any(one.value.batch.token == batch.token or dotted(one.receiver) == name for one in moved if one.value.batch)


def _last_word(name: str, meeting: Meeting) -> str:
    path = meeting.misplaced.value.batch.path if meeting.misplaced.value.batch else ()
    return str(path[-1]) if path and isinstance(path[-1], str) and not name.isidentifier() else name


def _finding(program: Program, meetings: list[Meeting], whole: set[str]) -> Finding | None:
    """One element, and all operations in which it meets what was moved. `whole` are batches moved as one already."""
    meeting = _nearest(program, meetings)
    batch = meeting.misplaced.value.batch
    assert batch is not None
    if batch.token in whole or is_from_placed_loader(program, birth_node(meeting)):
        return None
    name = name_of(program, meeting)
    moves = sibling_moves(program, meeting, batch)
    if len({device_in(copied_suffix(program, one.node) or "") for one in moves}) > 1:
        return None
    fix = whole_batch(program, meeting, batch, moves)
    if fix is not None:
        whole.add(batch.token)
    else:
        fix = fix_in_helper(program, meeting, batch) or element_fix(program, meeting, meetings, batch, moves)
    origin = program.source.span(_origin_node(meeting))
    trail = [Step(origin, f"`{name}` comes from the loader here, on the host")]
    trail.extend(_sibling_step(program, one) for one in moves[-1:])
    anchor = text_of(program, meeting.anchor.node)
    trail.append(Step(program.source.span(meeting.misplaced.node), f"it meets `{anchor}`, {_where(meeting)}, here"))
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{name}` stays on the host, but meets `{anchor}` {_where(meeting)} in {meeting.operation}",
        span=program.source.span(meeting.node),
        origin=origin,
        trail=tuple(trail),
        fix=fix,
        advice=None if fix else f"move `{name}` to the device of `{anchor}` before this line",
    )


def _where(meeting: Meeting) -> str:
    """Where the element should be, in words."""
    chosen = may_be_device(meeting.anchor.place)
    return device_words(meeting) if chosen else "where others of its batch are moved"


def _sibling_step(program: Program, move: Move) -> Step:
    return Step(program.source.span(move.node), f"its sibling `{text_of(program, move.receiver)}` is moved here")


def _nearest(program: Program, meetings: list[Meeting]) -> Meeting:
    """The operation in the element's own function, where there is one: its names are those that a fix may use."""
    birth = birth_node(meetings[0])
    function = scope.function_around(program, birth)
    return next((one for one in meetings if one.context.function is function), meetings[0])


def _origin_node(meeting: Meeting) -> ast.AST:
    """Where the element gets its name: never a whole loop."""
    node = birth_node(meeting)
    return node.iter if isinstance(node, (ast.For, ast.AsyncFor)) else node


def _owns(conflict: Conflict) -> bool:
    return conflict.birth.birth in {graph.Birth.LOADER, graph.Birth.SIBLING}


RULE = Rule(
    "DVF101",
    "batch-not-moved",
    (
        (b"for ", b".to("),
        (b"for ", b".cuda("),
        (b"next(", b".to("),
        (b"next(", b".cuda("),
        (b"oader", b".backward("),
        (b", tuple):", b".to("),
        (b"if not ", b".to("),
        (b'["', b".to("),
        (b"['", b".to("),
    ),
    check,
    looks=_looks,
    owns=_owns,
)
