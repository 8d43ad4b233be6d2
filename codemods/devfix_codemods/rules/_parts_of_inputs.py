"""What the `forward` of a module takes out of its inputs: elements of a pair, values of a mapping, views of these."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.program import Program
from devfix_codemods.rules._buffers import is_surely_module
from devfix_codemods.rules._taken_to_host import moves_to_host
from devfix_codemods.rules._tensor_words import SHAPES


def is_part_of_input(program: Program, function: scope.Function, node: ast.expr) -> bool:
    """`batch["x"]`, and `a` after `a, b = pair`, where `batch` and `pair` are given to the `forward` of a module."""
    owner = scope.class_around(program, function)
    if owner is None or function.name != "forward" or not is_surely_module(program, owner):
        return False
    if isinstance(node, ast.Name):
        return node.id not in scope.parameters(function) and _is_taken(program, function, node, frozenset())
    return _is_keyed(node) and _is_taken(program, function, node, frozenset())


def _is_keyed(node: ast.expr) -> bool:
    """`batch["x"]`: a mapping's, no element of a tensor or of a shape."""
    return (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    )


def _is_taken(program: Program, function: scope.Function, node: ast.expr, seen: frozenset[str]) -> bool:
    """Whether an expression is a parameter, or a part or a view of one, on whichever path it is bound."""
    inner = node
    while isinstance(inner, (ast.Subscript, ast.Call)):
        if isinstance(inner, ast.Subscript):
            inner = inner.value
        elif isinstance(inner.func, ast.Attribute) and inner.func.attr in _VIEWS and not moves_to_host(inner):
            inner = inner.func.value
        else:
            return False
    if not isinstance(inner, ast.Name) or inner.id in {"self", *seen}:
        return isinstance(inner, ast.Name) and inner.id in seen
    values = list(_values(program, function, inner.id))
    given = inner.id in scope.parameters(function)
    return (given or bool(values)) and all(
        one is not None and _is_taken(program, function, one, seen | {inner.id}) for one in values
    )


_VIEWS = tables.TENSOR_EVIDENCE_METHODS | SHAPES


def _values(program: Program, function: scope.Function, name: str) -> Iterator[ast.expr | None]:
    """What each assignment gives `name`; None for a loop, a `with`, and what is added in place."""
    for one in scope.stores(function, name):
        statement, target = program.names.statement(one), program.names.parent(one)
        if not isinstance(statement, ast.Assign):
            yield None
        elif isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            elements = statement.value.elts
            yield elements[target.elts.index(one)] if len(elements) == len(target.elts) else None
        else:
            yield statement.value
