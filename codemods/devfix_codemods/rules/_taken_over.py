"""Tensors on the host that are filled with another one and take its name: `y[:n] = x; x = y`."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program


def takes_over(program: Program, function: scope.Function, call: ast.Call, tensor: str) -> bool:
    """Whether what `call` makes holds what `tensor` held, and is used in its place: all that follows leaves its device.

    The assignment to a part copies, so nothing fails there.
    """
    statement = program.names.statement(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
    if not isinstance(target, ast.Name):
        return False
    later = [one for one in walk(function) if isinstance(one, ast.Assign) and one.lineno > statement.lineno]
    taken = [one for one in later if _takes(one, target.id, tensor)]
    return bool(taken) and any(_fills(one, target.id, tensor) and one.lineno < taken[0].lineno for one in later)


def _takes(statement: ast.Assign, name: str, tensor: str) -> bool:
    """`x = y`"""
    return dotted(statement.value) == name and any(dotted(one) == tensor for one in statement.targets)


def _fills(statement: ast.Assign, name: str, tensor: str) -> bool:
    """`y[:n] = x`, `y[:, i] = x[i]`: the whole of it, or a part."""
    parts = (one for one in statement.targets if isinstance(one, ast.Subscript))
    return any(dotted(one.value) == name for one in parts) and dotted(scope.indexed(statement.value)) == tensor
