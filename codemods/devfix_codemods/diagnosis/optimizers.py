"""Repairs of an optimizer whose state is not where its parameters are."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.diagnosis.devices import dotted_root
from devfix_codemods.diagnosis.project import Project, dotted
from devfix_codemods.diagnosis.records import Diagnosis, Operand, Repair
from devfix_codemods.diagnosis.trace import Tracer
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.program import Program


def optimizer_repairs(project: Project, diagnosis: Diagnosis, operand: Operand) -> Iterator[Repair]:
    """The model is moved before the optimizer is built: state that is loaded goes where the parameters are then."""
    if not diagnosis.frames:
        return
    for site in reversed(Tracer(project).sites(operand.expression, operand.frame)):
        program = project.program(site.file)
        if program is None or not isinstance(site.value, ast.Call):
            continue
        for move in _later_moves(program, site.statement):
            code = program.source.segment(program.source.span(move))
            names = {name for name in scope.reads(move) if dotted_root(name) is not None}
            if names <= project.bound_at(site.file, site.statement):
                insert = InsertStatement(program.source.span(site.statement), "before", code)
                title = f"Move the model before `{site.target}` is built: `{code}`"
                yield Repair(title, ((site.file, (insert,)),))


def _later_moves(program: Program, statement: ast.stmt) -> Iterator[ast.stmt]:
    """Moves of modules, as statements or assignments, further down in the same block."""
    for one in scope.block_of(program, statement):
        if one.lineno <= statement.lineno:
            continue
        value = one.value if isinstance(one, (ast.Expr, ast.Assign)) else None
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in {"to", "cuda"}:
            owner = dotted(value.func.value)
            targets = [dotted(target) for target in one.targets] if isinstance(one, ast.Assign) else [owner]
            if owner is not None and targets == [owner]:
                yield one
