"""Modules that hand back tensors of the host, wherever they are themselves: a detector that fills its boxes there."""

import ast

from devfix_codemods.flow import tables
from devfix_codemods.flow.classes import ClassTable
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tree import walk

_DEPTH = 3
"""How many names and modules are looked through from a `return` to what made the value."""
_TO_HOST = frozenset({"cpu", "numpy", "tolist", "item"})


def gives_host(classes: ClassTable, definition: ast.ClassDef, depth: int = _DEPTH) -> bool:
    """Whether all that the `forward` of a class returns was copied to the host, or made there and filled in parts."""
    forward = classes.methods(definition).get("forward")
    values = [one.value for one in walk(forward) if isinstance(one, ast.Return)] if forward is not None else []
    return bool(values) and all(
        one is not None and forward is not None and _is_of_host(classes, definition, forward, one, depth)
        for one in values
    )


def _is_of_host(classes: ClassTable, owner: ast.ClassDef, forward: ast.AST, value: ast.expr, depth: int) -> bool:
    if depth == 0:
        return False
    match value:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return bool(parts) and all(_is_of_host(classes, owner, forward, one, depth) for one in parts)
        case ast.Call(func=ast.Attribute(attr=method)) if method in _TO_HOST:
            return True
        case ast.Call(func=function):
            part = (dotted(function) or "").removesuffix(".forward")
            inner = classes.built_for(owner, part.removeprefix("self.")) if part.startswith("self.") else None
            return inner is not None and gives_host(classes, inner, depth - 1)
        case ast.Name(id=name):
            made = [one.value for one in walk(forward) if isinstance(one, ast.Assign) and _binds(one, name)]
            filled = any(_fills(one, name) for one in walk(forward))
            return bool(made) and all(
                (filled and _is_made(one)) or _is_of_host(classes, owner, forward, one, depth - 1) for one in made
            )
    return False


def _binds(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in statement.targets)


def _fills(node: ast.AST, name: str) -> bool:
    """`out[i] = …`"""
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and dotted(node.value) == name


def _is_made(value: ast.expr) -> bool:
    """`torch.zeros(n, 4)`, which is not told a device."""
    if not isinstance(value, ast.Call) or any(one.arg in {"device", None} for one in value.keywords):
        return False
    return tables.canonical(dotted(value.func) or "") in tables.FACTORIES
