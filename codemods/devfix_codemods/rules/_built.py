"""Modules and metrics that are built on the host: the fix that moves them where they are built."""

import ast

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression
from devfix_codemods.findings import Fix
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.library import is_metric_api
from devfix_codemods.program import Program
from devfix_codemods.rules._moves import Mover, insertable, mover_for


def is_metric(program: Program, birth: ast.AST) -> bool:
    """Whether a module is a metric of torchmetrics."""
    return isinstance(birth, ast.Call) and is_metric_api(program.names.qualified(birth.func) or "")


def joins_moved(program: Program, birth: ast.AST) -> bool:
    """Whether a module becomes part of a model that was moved before: that is moved again, with all of its parts."""
    statement = program.names.statement(birth)
    return any(
        part.statement is statement and dotted(part.parent) is not None
        for fact in program.facts.attachments
        if insertable(fact.context)
        for part in fact.parts
    )


def move_where_built(program: Program, meeting: Meeting, birth: ast.AST) -> Fix | None:
    """`Net()` becomes `Net().to(device)`; a line of its own where the device gets its name later."""
    if not isinstance(birth, ast.Call):
        return None
    statement = program.names.statement(birth)
    mover = mover_for(program, meeting, statement, blocking=True)
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
    used = _used_from(program, meeting, statement)
    for later in block[block.index(statement) + 1 :]:
        if not isinstance(later, ast.Assign) or len(later.targets) != 1:
            continue
        text = dotted(later.targets[0])
        known = [one for one in meeting.devices if one.text == text and one.place == meeting.anchor.place]
        if known and name is not None and text is not None and later.lineno < used.lineno:
            insert = InsertStatement(program.source.span(later), "after", f"{name}.to({text})")
            return Mover(f".to({text})", text), (insert,)
    return None


def _used_from(program: Program, meeting: Meeting, statement: ast.stmt) -> ast.stmt:
    """Where the function of `statement` uses a module: itself, or by a call of the function that does."""
    around = scope.function_around(program, statement)
    calls = (one for one in (*meeting.context.sites, meeting.node) if scope.function_around(program, one) is around)
    return program.names.statement(next(calls, meeting.node))
