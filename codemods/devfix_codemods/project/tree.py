"""Walking syntax trees, faster than `ast.walk`: what holds no code is not visited."""

import ast
from collections.abc import Callable, Iterator
from typing import Any

_NO_CODE = frozenset(
    {"ctx", "op", "ops", "id", "attr", "arg", "name", "kind", "type_comment", "level", "module", "is_async"}
    | {"asname", "conversion", "simple", "type_ignores", "rest", "kwd_attrs"}
)
_LEAVES = (ast.Constant, ast.Name, ast.Global, ast.Nonlocal, ast.MatchSingleton, ast.Pass, ast.Break, ast.Continue)
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}
_SPELLED_OUT: dict[type[ast.AST], Callable[[Any], list[ast.AST]]] = {
    ast.Attribute: lambda node: [node.value],
    ast.Call: lambda node: [node.func, *node.args, *node.keywords],
    ast.keyword: lambda node: [node.value],
    ast.Assign: lambda node: [*node.targets, node.value],
    ast.Expr: lambda node: [node.value],
    ast.Subscript: lambda node: [node.value, node.slice],
    ast.BinOp: lambda node: [node.left, node.right],
    ast.Compare: lambda node: [node.left, *node.comparators],
    ast.arg: lambda node: [node.annotation] if node.annotation is not None else [],
}
"""The kinds that three quarters of all nodes with something inside are of."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly inside `node` that hold code, in source order: no contexts, no operators."""
    kind = node.__class__
    if (spelled := _SPELLED_OUT.get(kind)) is not None:
        return spelled(node)
    fields = _FIELDS.get(kind)
    if fields is None:
        named = () if issubclass(kind, _LEAVES) else node._fields
        fields = _FIELDS[kind] = tuple(name for name in named if name not in _NO_CODE)
    found: list[ast.AST] = []
    for name in fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            # keys of `{**x}` and defaults of keyword parameters may be missing
            found += [one for one in value if one is not None] if None in value else value
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and all code inside it, in the order of `ast.walk`."""
    pending = [node]
    for one in pending:  # it grows on the way
        yield one
        if one.__class__ is not ast.Name and one.__class__ is not ast.Constant:
            pending += children(one)


def declared(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    """The parameters that are no stars, in order."""
    spec = function.args
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]


def stored(target: ast.AST) -> set[str]:
    """The names that an assignment target, or all code inside a statement, binds."""
    return {one.id for one in walk(target) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def dotted(node: ast.expr) -> str | None:
    """`a.b.c` as text, or None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])
