"""One cut, and how operations spell what they are given."""

import ast
from dataclasses import dataclass

from devfix_codemods.edits.operations import Edit
from devfix_codemods.ir import Node
from devfix_codemods.repairs.points import before


@dataclass(frozen=True, slots=True)
class Cut:
    """Edits that move one value, and the words for it."""

    edits: tuple[Edit, ...]
    title: str
    sure: bool = True
    harmless: bool = False
    since: tuple[int, int] | None = None
    copies: bool = False
    """It moves a copy for one use: others find the value where it was."""


def operand_syntax(operand: Node, operation: Node) -> ast.expr | None:
    """The expression of an operand inside of its operation."""
    syntax = operation.syntax
    if not isinstance(syntax, ast.AST):
        return None
    name = name_at(operand, operation)
    for one in ast.iter_child_nodes(syntax):
        if one is operand.syntax and isinstance(one, ast.expr):
            return one
        if isinstance(one, ast.Name) and one.id == name:
            return one
    return None


def name_at(node: Node, user: Node) -> str | None:
    """What a value is called at the statement that uses it."""
    point = before(user)
    if point is None:
        return None
    return next((name for name, one in point.environment.items() if isinstance(name, str) and one is node), None)


def row_of(syntax: ast.AST) -> list[ast.expr]:
    """The values of a tuple, and what a call of an object is given."""
    if isinstance(syntax, ast.Tuple) and isinstance(syntax.ctx, ast.Load):
        return syntax.elts
    return [*syntax.args, *(one.value for one in syntax.keywords)] if isinstance(syntax, ast.Call) else []
