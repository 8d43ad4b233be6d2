"""Where an edit stands in the placement analysis: what names mean there, and under which condition it is reached."""

import ast
from dataclasses import dataclass

from devfix_codemods.edits.conflicts import place
from devfix_codemods.edits.operations import Edit, InsertStatement
from devfix_codemods.ir import Function, Guard, Node, Op
from devfix_codemods.ir.nodes import ALWAYS, Environment
from devfix_codemods.program import Program
from devfix_codemods.project.tree import children
from devfix_codemods.repairs.points import bound


@dataclass(frozen=True, slots=True)
class Point:
    """A statement of a function: what is bound there, and under which condition the edit is reached."""

    function: Function
    environment: Environment
    guard: Guard

    def value(self, dotted: str) -> Node | None:
        """What a dotted name means here; of attributes, those that the function sets or reads."""
        head, *attributes = dotted.split(".")
        found = bound(self.environment, self.function, head)
        for one in attributes:
            found = self._attribute(found, one) if found is not None else None
        return found

    def _attribute(self, base: Node, name: str) -> Node | None:
        read = (one for one in self.function.nodes if one.op is Op.ATTR and one.args[0] is base and one.extra == name)
        return self.environment.get((base, name)) or next(read, None)


def point_at(program: Program, edit: Edit) -> Point | None:
    """Where an edit stands; None where the code is not read."""
    syntax: ast.AST | None = node_at(program, edit)
    guard = ALWAYS
    while isinstance(syntax, ast.expr | ast.keyword):
        value = program.index.nodes.get(syntax)
        guard |= value.guard if value is not None else ALWAYS
        syntax = program.names.parent(syntax)
    if not isinstance(syntax, ast.stmt):
        return None
    for function in program.placement.module.functions:
        environment = function.after.get(syntax) if _is_behind(edit) else None
        environment = environment or function.before.get(syntax)
        if environment is not None:
            return Point(function, environment, guard | function.guards.get(syntax, ALWAYS))
    return None


def line_of(edit: Edit) -> int | None:
    """The line at which what an edit writes runs, as the file is: behind the statement that it is inserted after."""
    span = place(edit)
    return None if span is None else span.end_line + 1 if _is_behind(edit) else span.line


def _is_behind(edit: Edit) -> bool:
    return isinstance(edit, InsertStatement) and edit.where == "after"


def node_at(program: Program, edit: Edit) -> ast.expr | ast.stmt | None:
    """The innermost code that holds the place of an edit."""
    span = place(edit)
    if span is None:
        return None
    found: ast.expr | ast.stmt | None = None
    pending: list[ast.AST] = [program.tree]
    for node in pending:  # grows; inner ones come last
        if isinstance(node, ast.stmt) and not _first_line(node) <= span.line <= (node.end_lineno or 0):
            continue
        pending += children(node)
        if isinstance(node, ast.expr | ast.stmt) and node.lineno <= span.line <= (node.end_lineno or 0):
            found = node if program.source.span(node).contains(span) else found
    return found


def _first_line(statement: ast.stmt) -> int:
    """Where a statement begins, its decorators included."""
    decorators = getattr(statement, "decorator_list", None)
    return min(one.lineno for one in decorators) if decorators else statement.lineno
