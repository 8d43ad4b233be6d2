"""A module is built on the host and never moved, while its data is.

## What it does

Finds models, discriminators and loss modules with parameters that are called with values on a device, but were never
moved there, and moves them where they are built.

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
`device` must be declared first.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Step
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.places import HOST
from devfix_codemods.flow.values import Birth
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._looks import builds_and_runs
from devfix_codemods.rules._moves import Mover, device_words, insertable, mover_for, names_at, text_of


def check(program: Program) -> Iterator[Finding]:
    if not program.outline.builds_free_modules:
        return
    seen: set[ast.AST] = set()
    for meeting in program.facts.meetings:
        origin = meeting.misplaced.value.origin
        if meeting.misplaced.role != "module" or meeting.misplaced.place != HOST or not insertable(meeting.context):
            continue
        if origin is not None and origin.birth is Birth.MODULE and origin.node not in seen:
            seen.add(origin.node)
            yield _finding(program, meeting, origin.node)


def _finding(program: Program, meeting: Meeting, birth: ast.AST) -> Finding:
    name = text_of(program, meeting.misplaced.node)
    anchor = text_of(program, meeting.anchor.node)
    fix = _fix(program, meeting, birth)
    built = program.source.span(birth)
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


def _fix(program: Program, meeting: Meeting, birth: ast.AST) -> Fix | None:
    if not isinstance(birth, ast.Call):
        return None
    statement = program.names.statement(birth)
    mover = mover_for(program, meeting, names_at(program, statement, meeting), blocking=True)
    edits: tuple[Edit, ...]
    if mover is not None:
        edits = (*mover.edits, ReplaceExpression(program.source.span(birth), f"__node__{mover.suffix}"))
    else:
        later = _after_device(program, meeting, statement)
        if later is None:
            return None
        mover, edits = later
    return Fix(mover.safety, f"Move the module to `{mover.device}` where it is built", edits)


def _after_device(program: Program, meeting: Meeting, statement: ast.stmt) -> tuple[Mover, tuple[Edit, ...]] | None:
    """A line of its own right after the device gets its name, where that happens later in the same block."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    name = dotted(statement.targets[0])
    block = scope.block_of(program, statement)
    for later in block[block.index(statement) + 1 :]:
        if not isinstance(later, ast.Assign) or len(later.targets) != 1:
            continue
        text = dotted(later.targets[0])
        known = [one for one in meeting.devices if one.text == text and one.place == meeting.anchor.place]
        if (
            known
            and name is not None
            and text is not None
            and later.lineno < program.names.statement(meeting.node).lineno
        ):
            insert = InsertStatement(program.source.span(later), "after", f"{name}.to({text})")
            return Mover(f".to({text})", text), (insert,)
    return None


RULE = Rule(
    "DVF202",
    "module-not-moved",
    ((b"nn", b".to("), (b"nn", b".cuda("), (b"models", b".to(")),
    check,
    looks=builds_and_runs,
)
