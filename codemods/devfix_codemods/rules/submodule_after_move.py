"""A submodule is replaced or added after the model was moved.

## What it does

Finds modules that are built on the host and attached to a model which is on a device already, and moves the model
again after the last of them.

## Why it fails

`model.to(device)` moves what the model holds at that moment. A head that is put in afterwards stays on the host:

    RuntimeError: Expected all tensors to be on the same device, but got mat2 is on cpu, different from other tensors on
    cuda:0 (when checking argument in method wrapper_CUDA_mm)

## Before

    model.to(device)
    model.head = nn.Linear(768, 2)
    train(model, loader, device)

## After

    model.to(device)
    model.head = nn.Linear(768, 2)
    model.to(device)
    train(model, loader, device)

## Fix safety

Safe where the model is seen to be used before anything moves it again. Unsafe where it is only handed on (returned, or
passed to code in another file), which may still move it.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Attachment, DeviceName
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._guarded import may_be_written
from devfix_codemods.rules._looks import builds_and_runs
from devfix_codemods.rules._moves import device_for, insertable, roots, text_of


def check(program: Program) -> Iterator[Finding]:
    if not program.outline.builds_free_modules:
        return
    seen: set[ast.stmt] = set()
    for fact in sorted(program.facts.attachments, key=lambda one: one.escapes):
        statement = fact.parts[-1].statement
        if statement not in seen and insertable(fact.context):
            seen.update(one.statement for one in fact.parts)
            yield _finding(program, fact, statement)


def _finding(program: Program, fact: Attachment, last: ast.stmt) -> Finding:
    part = fact.parts[-1]
    parent = text_of(program, part.parent)
    fix = _fix(program, fact, last, parent)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{parent}.{part.attribute}` is built on the host after `{parent}` was moved, and nothing moves it",
        span=program.source.span(last),
        origin=program.source.span(fact.moved.node),
        trail=(
            Step(program.source.span(fact.moved.node), f"`{parent}` is moved here, with what it holds so far"),
            *(Step(program.source.span(one.statement), "this part is built on the host, later") for one in fact.parts),
            Step(program.source.span(fact.use), "and the model is used here"),
        ),
        fix=fix,
        advice=None if fix else f"move `{parent}` again after this line",
    )


def _fix(program: Program, fact: Attachment, last: ast.stmt, parent: str) -> Fix | None:
    if dotted(fact.parts[-1].parent) is None:
        return None
    move = _statement(program, fact, last, parent)
    if move is None:
        return None
    code, device = move
    edit = InsertStatement(program.source.span(_end_of_run(program, fact, last)), "after", code)
    safety = Safety.UNSAFE if fact.escapes and not _meets(program, fact) else Safety.SAFE
    return Fix(safety, f"Move `{parent}` to `{device}` once more after the new part", (edit,))


def _meets(program: Program, fact: Attachment) -> bool:
    """Whether a new part itself is seen to get what is elsewhere."""
    parts = {one.statement for one in fact.parts}
    origins = (one.misplaced.value.origin for one in program.facts.meetings if one.misplaced.role == "module")
    return any(one is not None and program.names.statement(one.node) in parts for one in origins)


def _statement(program: Program, fact: Attachment, last: ast.stmt, parent: str) -> tuple[str, str] | None:
    """The earlier move again, where its device expression still holds; else one by a name that is bound here."""
    devices = program.facts.devices_at.get(last, ())
    call = fact.moved.node
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    text = _arguments(program, call)
    suffix = f".{call.func.attr}({text})"
    if not may_be_written(program, suffix, call, last):
        return None
    if not roots(suffix) or _still_bound(suffix, fact, devices):
        return _like(program, call, parent, suffix), text or "cuda"
    name = device_for(fact.parent_place, devices)
    return None if name is None else (f"{parent}.to({name})", name)


def _arguments(program: Program, call: ast.Call) -> str:
    return ", ".join(
        [program.source.segment(program.source.span(one)) for one in call.args]
        + [f"{one.arg}={program.source.segment(program.source.span(one.value))}" for one in call.keywords if one.arg]
    )


def _still_bound(suffix: str, fact: Attachment, devices: tuple[DeviceName, ...]) -> bool:
    """Whether the expression names the same place at the new line."""
    texts = {one.text for one in devices if one.place == fact.parent_place}
    return any(f"({text})" in suffix or f"={text})" in suffix for text in texts)


def _like(program: Program, call: ast.Call, parent: str, suffix: str) -> str:
    """In the form of the earlier line: an assignment where that was one on the same name."""
    statement = program.names.parent(call)
    assigned = isinstance(statement, ast.Assign) and [dotted(one) for one in statement.targets] == [parent]
    own = isinstance(call.func, ast.Attribute) and dotted(call.func.value) == parent
    return f"{parent} = {parent}{suffix}" if assigned and own else f"{parent}{suffix}"


def _end_of_run(program: Program, fact: Attachment, last: ast.stmt) -> ast.stmt:
    """The statement after which all parts are in place: where the last lies in a branch, the branch's own block."""
    block = scope.block_of(program, last)
    parts = [one.statement for one in fact.parts if one.statement in block]
    return max(parts, key=lambda one: one.lineno)


RULE = Rule("DVF201", "submodule-after-move", ((b"nn", b".to("), (b"nn", b".cuda(")), check, looks=builds_and_runs)
