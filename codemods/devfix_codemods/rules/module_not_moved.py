"""A module is built on the host and never moved, while its data is.

## What it does

Finds models, discriminators and loss modules with parameters that are called with values on a device, but were never
moved there, and moves them where they are built. So it does for a model that a class keeps while it moves its batches,
and for a module that places its inputs but not itself, as others of its family do.

## Why it fails

Modules are built on the host. The first layer raises

    RuntimeError: Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same

or, for a linear layer, `Expected all tensors to be on the same device, but got mat2 is on cpu, different from other
tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm)`.

## Before

    model = Net()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = criterion(model(x), y)

## After

    model = Net().to(device)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = criterion(model(x), y)

## Fix safety

Safe: the call fails today wherever the device is not the host, and where it is, the move does nothing. Unsafe where a
`device` must be declared first, where a class is moved in its constructor, and for objects of a class that cannot be
read, which are modules by their use: such a constructor may have moved them.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.facts import Abroad, Meeting
from devfix_codemods.flow.places import HOST
from devfix_codemods.flow.values import Birth, Origin
from devfix_codemods.placement import graph
from devfix_codemods.placement.search import Conflict
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule, _division
from devfix_codemods.rules._built import is_metric, joins_moved, move_where_built
from devfix_codemods.rules._engines import EngineModel, engine_models, makes_engines
from devfix_codemods.rules._fresh_modules import FreshModule, called_at_once, fresh_modules, holds_tensors
from devfix_codemods.rules._kept_models import KeptModel, brings_to_own_device, kept_models
from devfix_codemods.rules._looks import builds_and_runs_or_calls
from devfix_codemods.rules._moves import device_words, insertable, text_of
from devfix_codemods.rules._self_moves import StayedBehind, moves_itself, stayed_behind


def check(program: Program) -> Iterator[Finding]:
    if not program.unit.traits.managed:
        yield from (_of_kept(program, one) for one in kept_models(program))
    if makes_engines(program.source.data):
        yield from (_of_engine(program, one) for one in engine_models(program))
    yield from (_of_fresh(program, one) for one in (*fresh_modules(program), *called_at_once(program)))
    seen: set[ast.AST] = set()
    if program.outline.builds_free_modules:
        yield from _that_meet(program, seen)
    if moves_itself(program.source.data):
        for one in stayed_behind(program):
            if not any(owner is one.owner for node in seen for owner in program.names.ancestors(node)):
                yield _of_family(program, one)


def _that_meet(program: Program, seen: set[ast.AST]) -> Iterator[Finding]:
    """Modules that are seen to get what is on a device. Where they are built is noted in `seen`."""
    yield from (_of_fresh(program, one) for one in _following(program))
    for meeting in program.facts.meetings:
        origin = meeting.misplaced.value.origin
        if meeting.misplaced.role != "module" or meeting.misplaced.place != HOST or not insertable(meeting.context):
            continue
        if origin is None or origin.birth not in _BUILT or is_metric(program, origin.node):
            continue
        if _division.is_weight(meeting) or joins_moved(program, origin.node) or _is_taken_to_host(program, meeting):
            continue
        if origin.node not in seen:
            seen.add(origin.node)
            yield _finding(program, meeting, origin)
    yield from _abroad(program, seen)


def _is_taken_to_host(program: Program, meeting: Meeting) -> bool:
    """Whether the code itself has brought the module to the host: a move where it is built changes nothing there."""
    token = meeting.misplaced.value.token
    return token is not None and any(one.value.token == token and one.target == HOST for one in program.facts.moves)


def _following(program: Program) -> Iterator[FreshModule]:
    """Modules that a method builds for itself, and calls with what it has moved to the device of its object."""
    for meeting in program.facts.followings:
        origin, name, anchor = meeting.misplaced.value.origin, meeting.misplaced.node, meeting.anchor.node
        if meeting.misplaced.role != "module" or origin is None or not isinstance(origin.node, ast.Call):
            continue
        if not isinstance(name, ast.Name) or not isinstance(anchor, ast.Name) or not isinstance(meeting.node, ast.Call):
            continue
        built = program.names.statement(origin.node)
        is_bare = isinstance(built, ast.Assign) and built.value is origin.node and holds_tensors(program, origin.node)
        here = scope.function_around(program, built) is meeting.context.function
        if is_bare and here and anchor.id in scope.bound_at(program, built):
            yield FreshModule(name.id, origin.node, meeting.node, anchor.id)


def _abroad(program: Program, seen: set[ast.AST]) -> Iterator[Finding]:
    """Modules that other files call."""
    for one in program.facts.abroad:
        origin = one.meeting.misplaced.value.origin
        if (
            one.meeting.misplaced.role != "module"
            or origin is None
            or origin.node in seen
            or not insertable(one.meeting.context)
        ):
            continue
        if not is_metric(program, origin.node):
            seen.add(origin.node)
            yield _called_elsewhere(program, one, origin.node)


def _called_elsewhere(program: Program, one: Abroad, birth: ast.AST) -> Finding:
    built, call = program.source.span(birth), program.source.span(one.meeting.node)
    where = one.place_from(program.source.path)
    fix = move_where_built(program, one.meeting, birth)
    name = text_of(program, birth)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{name}` stays on the host, but gets `{one.anchor}` {device_words(one.meeting)} in {where}",
        span=built,
        origin=built,
        trail=(
            Step(built, "it is built here, on the host"),
            Step(call, "and handed on here"),
            Step(one.span, f"it is called here, with `{one.anchor}` {device_words(one.meeting)}", one.path),
        ),
        fix=fix,
        advice=None if fix else f"move it to the device of `{one.anchor}` before it is handed on",
    )


def _of_kept(program: Program, kept: KeptModel) -> Finding:
    name = text_of(program, kept.statement.targets[0])
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{name}` is kept where the caller left it, but its batches are moved to `{kept.device}`",
        span=program.source.span(kept.call),
        origin=program.source.span(kept.statement),
        trail=(
            Step(program.source.span(kept.statement), "the model is kept here"),
            Step(program.source.span(kept.move), "its batches are moved here"),
        ),
        fix=Fix(Safety.UNSAFE, f"Move the model to `{kept.device}` where it is kept", (kept.edit,)),
    )


def _of_family(program: Program, one: StayedBehind) -> Finding:
    part = text_of(program, one.call.func)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{one.owner.name}` places the inputs of `{part}`, but never itself, as others of its family do",
        span=program.source.span(one.call),
        origin=program.source.span(one.owner),
        trail=(Step(program.source.span(one.sibling), "another of them moves itself here"),),
        fix=Fix(Safety.UNSAFE, "Move the module at the end of its constructor", (one.edit,)),
    )


def _of_engine(program: Program, one: EngineModel) -> Finding:
    built = program.source.span(one.build)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{text_of(program, one.build)}` stays on the host, but its engine moves batches by `{one.device}`",
        span=built,
        origin=built,
        trail=(Step(program.source.span(one.call), "the engine is made here: it moves batches, and never the model"),),
        fix=Fix(Safety.UNSAFE, f"Move the model as `{one.device}` says, where it is built", (one.edit,)),
    )


def _of_fresh(program: Program, fresh: FreshModule) -> Finding:
    built = program.source.span(fresh.build)
    device = f"{fresh.given}.device"
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{fresh.name}` is built on the host, but gets what the caller has put anywhere",
        span=program.source.span(fresh.call),
        origin=built,
        trail=(Step(built, "it is built here, on the host"),),
        fix=Fix(
            Safety.SAFE,
            f"Move the module to `{device}` where it is built",
            (ReplaceExpression(built, f"__node__.to({device})"),),
        ),
    )


_BUILT = frozenset({Birth.MODULE, Birth.INSTANCE})


def _finding(program: Program, meeting: Meeting, origin: Origin) -> Finding:
    name = text_of(program, meeting.misplaced.node)
    anchor = text_of(program, meeting.anchor.node)
    fix = move_where_built(program, meeting, origin.node)
    if fix is not None and origin.birth is Birth.INSTANCE:
        fix = Fix(Safety.UNSAFE, fix.title, fix.edits)  # its constructor may move it
    built = program.source.span(origin.node)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{name}` is built on the host and never moved, but gets `{anchor}` {device_words(meeting)}",
        span=program.source.span(meeting.node),
        origin=built,
        trail=(
            Step(built, "it is built here, on the host"),
            Step(
                program.source.span(meeting.anchor.node), f"and is called here with `{anchor}`, {device_words(meeting)}"
            ),
        ),
        fix=fix,
        advice=None if fix else f"move `{name}` to the device of `{anchor}` before this call",
    )


def _looks(data: bytes) -> bool:
    return builds_and_runs_or_calls(data) or moves_itself(data) or brings_to_own_device(data) or makes_engines(data)


def _owns(conflict: Conflict) -> bool:
    return conflict.birth.birth is graph.Birth.MODULE


RULE = Rule(
    "DVF202",
    "module-not-moved",
    (
        (b"nn", b".to("),
        (b"nn", b".cuda("),
        (b"models", b".to("),
        (b"models.", b"device=device"),
        (b"torchaudio", b"transforms"),
        (b"quantization.observer",),
        (b"__main__", b"device", b"odel"),
        (b", self.device)",),
        (b"self.cuda()",),
        (b"create_supervised_",),
        (b"nn.", b")("),
    ),
    check,
    looks=_looks,
    owns=_owns,
)
