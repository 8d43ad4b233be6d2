"""Loaded values that something reads on the host as they are: numpy, or a data set whose loader pins or forks."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted, walk

_DATA = frozenset({"torch.utils.data.TensorDataset", "torch.utils.data.dataset.TensorDataset"})


def is_read_on_host(program: Program, call: ast.Call) -> bool:
    """Whether what a call loads, or a part of it, is given to numpy or to a data set without a move.

    That works today only where the file was saved from the host.
    """
    names = _names(program.names.statement(call), call)
    around = _around(program, call, names)
    while more := {name for one in walk(around) for name in _gets(one, names)} - names:
        names |= more
    return any(_reads(program, one, names) for one in walk(around))


def _around(program: Program, call: ast.Call, names: set[str]) -> ast.AST:
    """Where the names can be read: the class of an attribute, else the function or the module."""
    owner = scope.class_around(program, call)
    if owner is not None and any(one.startswith("self.") for one in names):
        return owner
    return scope.function_around(program, call) or program.tree


def _names(statement: ast.stmt, value: ast.expr) -> set[str]:
    """What an assignment calls a value, or its items."""
    if not isinstance(statement, ast.Assign) or statement.value is not value:
        return set()
    parts = (part for one in statement.targets for part in (one.elts if isinstance(one, ast.Tuple) else [one]))
    return {name for one in parts if (name := dotted(one)) is not None}


def _gets(node: ast.AST, names: set[str]) -> Iterator[str]:
    """The names that get a part of what one of `names` holds, as it is, and the lists that it is put into."""
    match node:
        case ast.Assign(value=value):
            for target, part in _pairs(node):
                if _holds(part, names):
                    yield from _names(ast.Assign([target], value), value)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="append" | "extend"), args=[part]):
            if _holds(part, names):
                yield owner


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    for target in node.targets:
        match target, node.value:
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                yield from zip(targets, values)
            case _:
                yield target, node.value


def _holds(node: ast.expr, names: set[str]) -> bool:
    """`x`, `x["key"]`, `[x, y]`: nothing is computed or moved."""
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return any(_holds(one, names) for one in parts)
        case ast.Subscript(value=inner) | ast.Starred(value=inner):
            return _holds(inner, names)
    return dotted(node) in names


def _reads(program: Program, node: ast.AST, names: set[str]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Attribute(value=value, attr="numpy") if _holds(value, names):
            return True
    reader = program.names.qualified(node.func) or ""
    if not reader.startswith("numpy.") and reader not in _DATA:
        return False
    return any(_holds(one, names) for one in scope.given_to(node))
