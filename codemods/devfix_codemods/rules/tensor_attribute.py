"""A module keeps a tensor in a plain attribute, which `.to` does not carry.

## What it does

Finds tensors that a class keeps in plain attributes of `self` and that meet, in another method, values that live
elsewhere: wherever the module was moved, or on the device that the class chose. They are registered as buffers that
no checkpoint holds, moved where they are used, or made on the class's own device. So are attributes that another
method means to register as buffers. What is made once, where the first input was, is made again for one elsewhere.
What begins empty, and grows by what a class with a device is given, goes where that is; so does what one branch takes
where another makes a tensor on a device. A distribution of host tensors that a module keeps is told, and not edited.

## Why it fails

`module.to(device)` moves parameters, buffers and submodules. A tensor in a plain attribute, in a list or in a
dictionary is none of them and stays where it was made:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

    KeyError: "attribute 'mean' already exists"

## Before

    class Positions(nn.Module):
        def __init__(self, length, width):
            super().__init__()
            self.index = torch.arange(64)
            self.embed = nn.Embedding(length, width)

        def forward(self, x):
            return x + self.embed(self.index)

## After

    class Positions(nn.Module):
        def __init__(self, length, width):
            super().__init__()
            self.register_buffer("index", torch.arange(64), persistent=False)
            self.embed = nn.Embedding(length, width)

        def forward(self, x):
            return x + self.embed(self.index)

## Fix safety

Safe where the value is moved at its use, and for buffers of whole numbers: nothing else changes for a program that
works today, and `persistent=False` keeps the keys of checkpoints as they are. Unsafe for buffers of floating-point
numbers, because `.half()` converts them from then on.

## Since torch

Any; 1.6 for `persistent=False`.
"""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, ReplaceExpression, ReplaceStatement
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import DISTRIBUTION, Abroad, Meeting
from devfix_codemods.flow.places import HOST, UNKNOWN
from devfix_codemods.flow.values import Kind
from devfix_codemods.placement import graph
from devfix_codemods.placement.search import Conflict
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule, _attributes, _buffers, _division, _following, _looks
from devfix_codemods.rules._attributes import Kept
from devfix_codemods.rules._beside_placed import Beside, beside_placed, takes_beside_placed
from devfix_codemods.rules._caches import Cache, caches
from devfix_codemods.rules._conditions import exclude_each_other
from devfix_codemods.rules._cuda_only import is_test
from devfix_codemods.rules._growing import grows
from devfix_codemods.rules._kept_company import fails_anyhow, meets_host, picks_of_given
from devfix_codemods.rules._late_buffers import Late, late_buffers
from devfix_codemods.rules._moved_already import uses_to_move
from devfix_codemods.rules._moves import device_words, text_of
from devfix_codemods.source import Span

FEW = 2
"""At how many uses a floating-point attribute is moved there rather than made a buffer."""

MANY = 3
"""Moves beyond which it is to be made elsewhere: where, a person must say."""


def check(program: Program) -> Iterator[Finding]:
    yield from (_registered_late(program, one) for one in late_buffers(program))
    yield from (_cached(program, one) for one in caches(program))
    if not program.outline.makes_tensors:
        return
    beside = {one.kept: one for one in _branches(program)}
    found: dict[Kept, list[Meeting]] = {}
    followings = () if is_test(program) else program.facts.followings  # who runs a test chose the machine
    for meeting in (*program.facts.meetings, *followings):
        kept = _attributes.kept_in(program, meeting) if concerns(program, meeting) else None
        if kept is None or _division.code_for(program, meeting) != RULE.code or _never_meet(program, meeting):
            continue
        if _is_moved_where_made(program, meeting):
            continue
        found.setdefault(kept, []).append(meeting)
    for kept, meetings in found.items():
        if not _attributes.is_carried_along(program, kept):
            yield _finding(program, kept, _by_node(meetings))
    yield from (_beside(program, one) for kept, one in beside.items() if kept not in found)
    for one in program.facts.abroad:
        there = _attributes.kept_in(program, one.meeting) if concerns(program, one.meeting) else None
        if there is not None and there not in found and not _attributes.is_carried_along(program, there):
            yield _used_elsewhere(program, there, one)


def _branches(program: Program) -> Iterator[Beside]:
    """Not in tests, nor where a framework places values: who runs those chose the machine."""
    if takes_beside_placed(program.source.data) and not program.unit.traits.managed and not is_test(program):
        yield from beside_placed(program)


def _never_meet(program: Program, meeting: Meeting) -> bool:
    """Whether the value is made for objects of one kind, and met in those of another."""
    births = _attributes.births(meeting)
    return bool(births) and all(exclude_each_other(program, one, meeting.node) for one in births)


def _is_moved_where_made(program: Program, meeting: Meeting) -> bool:
    """Whether the function that makes the value for another one moves it, if only on one of its paths."""
    for birth in _attributes.births(meeting):
        statement, function = program.names.statement(birth), scope.function_around(program, birth)
        if function is None or function is meeting.context.function or not isinstance(statement, ast.Assign):
            continue
        names = set(scope.stored(statement))
        if any(
            isinstance(one, ast.Attribute) and one.attr in {"to", "cuda"} and dotted(one.value) in names
            for one in ast.walk(function)
        ):
            return True
    return False


def concerns(program: Program, meeting: Meeting) -> bool:
    """Whether a host tensor meets what a module, or a device that was chosen, makes live elsewhere."""
    misplaced = meeting.misplaced
    on_host = misplaced.place == HOST or (misplaced.place == UNKNOWN and misplaced.value.sources)
    if not on_host or misplaced.role == "module" or misplaced.value.kind is not Kind.TENSOR:
        return False
    return not meeting.context.worker and _lives_elsewhere(program, meeting)


def _lives_elsewhere(program: Program, meeting: Meeting) -> bool:
    """Of a class that is no module, only what meets a device that the program chose, or collects what a class with a
    device is given: else it may be for the host alone."""
    owner = meeting.context.owner
    surely = meeting in program.facts.meetings and meeting.misplaced.place == HOST
    return surely or owner is None or program.classes.is_module(owner) or grows(program, meeting)


def _by_node(meetings: list[Meeting]) -> list[Meeting]:
    """One meeting for each expression that is misplaced, in the order of the source."""
    nodes = {one.misplaced.node: one for one in reversed(meetings)}
    return sorted(nodes.values(), key=lambda one: (one.node.lineno, one.node.col_offset))


def _finding(program: Program, kept: Kept, meetings: list[Meeting]) -> Finding:
    first = meetings[0]
    birth = program.source.span(_attributes.births(first)[0])
    other = text_of(program, first.anchor.node)
    fix = _fix(program, kept, meetings) if _helps(program, kept, meetings) else None
    what = "is a distribution of plain tensors" if _is_distribution(meetings) else "is a plain tensor"
    is_module = _buffers.is_surely_module(program, kept.owner)
    why = "`.to` does not carry it" if is_module else "nothing moves it"
    where = "wherever its module was moved" if is_module else "where the caller has it"
    where = device_words(first) if first in program.facts.meetings else where
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`self.{kept.name}` {what}, {why}, but it meets `{other}`, which is {where}",
        span=_kept_at(program, kept) or birth,
        origin=birth,
        trail=(
            Step(birth, f"`self.{kept.name}` is made here, on the host"),
            Step(program.source.span(first.node), f"and meets `{other}` here"),
        ),
        fix=fix,
        advice=None if fix else _OF_PARAMETERS if _is_distribution(meetings) else _advice(kept, is_module),
    )


def _is_distribution(meetings: list[Meeting]) -> bool:
    return any(one.misplaced.role == DISTRIBUTION for one in meetings)


_OF_PARAMETERS = "keep its parameters as buffers, and build the distribution of them where it is used"


def _helps(program: Program, kept: Kept, meetings: list[Meeting]) -> bool:
    """Whether one of the operations works with the tensor moved."""
    return not all(fails_anyhow(program, kept, one) for one in meetings) and not picks_of_given(program, kept)


def _kept_at(program: Program, kept: Kept) -> Span | None:
    """The first assignment to the attribute in the constructor."""
    constructor = scope.constructor(kept.owner)
    for one in _attributes.assignments(program, kept):
        if scope.function_around(program, one) is constructor and constructor is not None:
            return program.source.span(_attributes.targets(one)[0])
    return None


def _used_elsewhere(program: Program, kept: Kept, one: Abroad) -> Finding:
    """An attribute that a method of another file brings together with what is elsewhere."""
    birth, call = program.source.span(_attributes.births(one.meeting)[0]), program.source.span(one.meeting.node)
    where = one.place_from(program.source.path)
    why = f"`self.{kept.name}` is a plain tensor, `.to` does not carry it"
    buffer = _buffers.as_buffer(program, kept) if _buffers.is_surely_module(program, kept.owner) else None
    safety = Safety.SAFE if _buffers.is_integral(program, kept) else Safety.UNSAFE
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"{why}, but it meets `{one.anchor}` in {where}",
        span=birth,
        origin=birth,
        trail=(
            Step(birth, f"`self.{kept.name}` is made here, on the host"),
            Step(call, "this call leads there"),
            Step(one.span, f"and it meets `{one.anchor}` here", one.path),
        ),
        fix=None if buffer is None else _registered(kept, buffer, safety),
        advice=None if buffer is not None else _advice(kept, is_module=True),
    )


def _advice(kept: Kept, is_module: bool) -> str:
    if is_module:
        return f'use `self.register_buffer("{kept.name}", …, persistent=False)`, or move it where it is used'
    return f"make `self.{kept.name}` on the device of what it meets, or move it where it is used"


def _fix(program: Program, kept: Kept, meetings: list[Meeting]) -> Fix | None:
    managed = any(one.context.managed for one in meetings)
    if _is_distribution(meetings):
        here = not managed and not _buffers.is_surely_module(program, kept.owner)
        return _made_there(program, kept, meetings) if here else None
    if meets_host(program, kept):
        return None if managed else _moved(program, kept, meetings)
    if not managed and not _buffers.is_surely_module(program, kept.owner):
        return _made_there(program, kept, meetings) or _moved(program, kept, meetings)
    buffer = _buffers.as_buffer(program, kept)
    if buffer is not None and _buffers.is_integral(program, kept):
        return _registered(kept, buffer, Safety.SAFE)
    if _buffers.as_parameter(program, kept):
        return None if buffer is None else _registered(kept, buffer, Safety.UNSAFE)
    moved = None if managed else _moved(program, kept, meetings)
    if moved is not None and (buffer is None or len(meetings) <= FEW):
        return moved
    return _registered(kept, buffer, Safety.UNSAFE) if buffer is not None else None


def _registered_late(program: Program, late: Late) -> Finding:
    span, value = program.source.span(late.assignment), text_of(program, late.assignment.value)
    options = "".join(f", {one.arg}={text_of(program, one.value)}" for one in late.registration.keywords if one.arg)
    code = f'self.register_buffer("{late.name}", {value}{options})'
    there = program.source.span(late.registration)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`self.{late.name}` is a plain attribute: no buffer can be registered under its name later",
        span=span,
        trail=(Step(span, "it is set here"), Step(there, "and meant to be a buffer here")),
        fix=Fix(Safety.UNSAFE, f"Register `{late.name}` as a buffer from the start", (ReplaceStatement(span, code),)),
    )


def _beside(program: Program, one: Beside) -> Finding:
    span, made = program.source.span(one.node), program.source.span(one.made)
    edit = ReplaceExpression(span, f"__node__.to({one.device})")
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`self.{one.kept.name}` is on the host, but the other branch makes its tensor on `{one.device}`",
        span=span,
        trail=(Step(made, f"made on `{one.device}` here"),),
        fix=Fix(
            Safety.SAFE if one.sure else Safety.UNSAFE,
            f"Move `self.{one.kept.name}` to `{one.device}` where it is taken",
            (edit,),
        ),
    )


def _cached(program: Program, cache: Cache) -> Finding:
    span, there = program.source.span(cache.assignment), f"{cache.tensor}.device"
    edit = ReplaceExpression(program.source.span(cache.test), f"__node__ or self.{cache.name}.device != {there}")
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`self.{cache.name}` stays on the device of the first `{cache.tensor}`, wherever later ones are",
        span=span,
        trail=(Step(span, "it is made here, once"),),
        fix=Fix(Safety.SAFE, f"Make `self.{cache.name}` again where `{cache.tensor}` is elsewhere", (edit,)),
    )


def _registered(kept: Kept, edits: tuple[Edit, ...], safety: Safety) -> Fix:
    title = f"Register `{kept.name}` as a buffer that no checkpoint holds"
    return Fix(safety, title, edits, since=_buffers.SINCE)


def _moved(program: Program, kept: Kept, meetings: list[Meeting]) -> Fix | None:
    """Each use moved to what it meets, but for what is computed of a use that is moved already.

    What may be None is not moved on its way to a module, which may take that.
    """
    if _may_be_none(program, kept) and any(one.anchor.role == "module" for one in meetings):
        return None
    moves = [_following.at_meeting(program, one) for one in uses_to_move(program, meetings)]
    found = [one for one in moves if one is not None]
    if len(found) < len(moves):
        return None
    edits = tuple(dict.fromkeys(edit for one in found for edit in one.edits))
    if len(edits) > MANY:
        return None
    return Fix(Safety.SAFE, f"Move `self.{kept.name}` to `{found[0].device}` where it is used", edits)


def _may_be_none(program: Program, kept: Kept) -> bool:
    """Whether the class gives the attribute None on some path, directly or by a local name."""
    values = [one.value for one in program.bindings.of_class(kept.owner, f"self.{kept.name}")]
    for one in list(values):
        if isinstance(one, ast.Name):
            values += [each.value for each in program.bindings.seen(one.id, one)]
    return any(isinstance(one, ast.Constant) and one.value is None for one in values)


def _made_there(program: Program, kept: Kept, meetings: list[Meeting]) -> Fix | None:
    """Made on the device that the class keeps, where the constructor has it already."""
    found = _following.at_births(program, meetings[0])
    if found is None:
        return None
    return Fix(found.safety, f"Make `self.{kept.name}` on `{found.device}`", found.edits)


def _owns(conflict: Conflict) -> bool:
    made = conflict.birth.birth in {graph.Birth.FACTORY, graph.Birth.ARRAY} and conflict.is_of_attribute
    return made and not conflict.is_of_index and not conflict.is_of_weight


RULE = Rule("DVF203", "tensor-attribute", ((b"torch", b"self."),), check, looks=_looks.keeps_tensors, owns=_owns)
