"""Repairs of an optimizer whose state is not where its parameters are."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.assumptions.index import Index
from devfix_codemods.diagnosis.devices import dotted_root
from devfix_codemods.diagnosis.project import Project
from devfix_codemods.diagnosis.records import Diagnosis, Operand, Repair
from devfix_codemods.diagnosis.trace import Tracer
from devfix_codemods.edits.operations import InsertStatement, RemoveStatement
from devfix_codemods.ordering.models import block_of


def optimizer_repairs(project: Project, diagnosis: Diagnosis, operand: Operand) -> Iterator[Repair]:
    """The model is moved before the optimizer is built: state that is loaded goes where the parameters are then."""
    if not diagnosis.frames:
        return
    for site in reversed(Tracer(project).sites(operand.expression, operand.frame)):
        program = project.program(site.file)
        if program is None or not isinstance(site.value, ast.Call):
            continue
        for move in _later_moves(project.index(site.file), site.statement):
            code = program.source.segment(program.source.span(move))
            names = {name for name in scope.reads(move) if dotted_root(name) is not None}
            if names <= project.bound_at(site.file, site.statement):
                insert = InsertStatement(program.source.span(site.statement), "before", code)
                title = f"Move the model before `{site.target}` is built: `{code}`"
                yield Repair(title, ((site.file, (insert, RemoveStatement(program.source.span(move)))),))


def _later_moves(index: Index, statement: ast.stmt) -> Iterator[ast.stmt]:
    """Moves of modules, as statements or assignments, further down in the same block."""
    births, block = index.analysis.births, block_of(index, statement)
    for call in index.calls:
        move = call.statement
        plain = move in block and isinstance(move, ast.Expr | ast.Assign) and move.value is call.syntax
        if plain and call.line > statement.lineno and births.is_move(call) and births.is_elsewhere(call):
            assert move is not None
            yield move
