"""Names: which ones statements read before they bind them, and which ones something binds before them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from .alone import definition

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_OWN = (*_SCOPES, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def free_names(statements: Iterable[ast.AST]) -> list[str]:
    """The names that statements read and have not bound by then, as far as their order in the text tells."""
    found: dict[str, None] = {}
    bound: set[str] = set()
    for one in statements:
        _read(one, bound, found)
    return list(found)


def bound_before(tree: ast.Module, name: str, line: int) -> frozenset[str]:
    """The names that the function `name`, or without one the file, may have bound at that line.

    Of a function also those of the file, which may be bound when it is called.
    """
    function: Any = definition(tree, name.split(".")) if name else None
    scope: Any = function if function is not None else tree
    loops = [one for one in ast.walk(scope) if isinstance(one, (ast.For, ast.While)) and _holds(one, line)]
    end = max((one.end_lineno or 0 for one in loops), default=line)
    found = {name for name, at in _bindings(scope) if at < line or (loops and at <= end)}
    if function is not None:
        given = function.args
        found.update(one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs))
        found.update(one.arg for one in (given.vararg, given.kwarg) if one is not None)
        found.update(name for name, _ in _bindings(tree))
    return frozenset(found)


def bound_late(tree: ast.Module, name: str) -> frozenset[str]:
    """The names that a file binds only after it first calls a function; if it never does, those of a script alone."""
    callers = _callers(tree, name)
    calls = [one for one in own_nodes(tree) if isinstance(one, ast.Call) and called_name(one) in callers]
    first = min((one.lineno for one in calls), default=None)
    guards = [one for one in tree.body if isinstance(one, ast.If) and "__name__" in ast.unparse(one.test)]
    early: set[str] = set()
    late: set[str] = set()
    for bound, line in _bindings(tree):
        is_of_script = any(_holds(one, line) for one in guards)
        (late if (is_of_script if first is None else line >= first) else early).add(bound)
    return frozenset(late - early)


def _callers(tree: ast.Module, name: str) -> set[str]:
    """What the functions are called through which a file may come to one of its own."""
    found, size = set(name.split(".")), 0
    functions = [one for one in ast.walk(tree) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    while len(found) > size:
        size = len(found)
        for one in functions:
            if any(isinstance(inner, ast.Call) and called_name(inner) in found for inner in ast.walk(one)):
                found.add(one.name)
    return found


def called_name(call: ast.Call) -> str:
    """The last part of what a call names: `save` of `torch.save(net)`."""
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def _holds(node: Any, line: int) -> bool:
    return bool(node.lineno <= line <= node.end_lineno)


def _read(node: Any, bound: set[str], found: dict[str, None]) -> None:
    if isinstance(node, ast.Name):
        _meet(node, bound, found)
    elif isinstance(node, _OWN):
        own = {name for name, _ in _bindings(node)} | {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
        inner = [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
        found.update((name, None) for name in inner if name not in own | bound)
        bound.update([node.name] if hasattr(node, "name") else [])
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        for one in (node.value, *getattr(node, "targets", [getattr(node, "target", None)])):
            _read(one, bound, found)
    elif isinstance(node, ast.AugAssign):
        found.update((one.id, None) for one in [node.target] if isinstance(one, ast.Name) and one.id not in bound)
        _read(node.value, bound, found)
        _read(node.target, bound, found)
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        for one in (node.iter, node.target, *node.body, *node.orelse):
            _read(one, bound, found)
    elif node is not None:
        if isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        if isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
        for one in ast.iter_child_nodes(node):
            _read(one, bound, found)


def _meet(node: ast.Name, bound: set[str], found: dict[str, None]) -> None:
    if isinstance(node.ctx, ast.Store):
        bound.add(node.id)
    elif node.id not in bound:
        found[node.id] = None


def _bindings(scope: Any) -> Iterator[tuple[str, int]]:
    """The names that a scope binds itself, with their lines."""
    for node in own_nodes(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0], node.lineno
        elif isinstance(node, (*_SCOPES, ast.ExceptHandler)) and getattr(node, "name", None):
            yield str(getattr(node, "name", "")), node.lineno


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """What a scope runs itself: inner scopes as they are defined, and not what is in them."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def never_holds(tree: ast.AST, line: int) -> bool:
    """Whether a condition asks for a constant that no loop around it gives: `x == "c"` in `for x in ["a", "b"]`."""
    nodes = list(ast.walk(tree))
    tests = [one.test for one in nodes if isinstance(one, (ast.If, ast.While)) and one.lineno == line]
    loops = [one for one in nodes if isinstance(one, ast.For) and one.lineno != line and _holds(one, line)]
    return any(_goes_past(loop, test) for test in tests for loop in loops)


def _goes_past(loop: ast.For, test: Any) -> bool:
    """Whether a loop goes through constants, and a test asks for another one."""
    listed = loop.iter.elts if isinstance(loop.iter, (ast.List, ast.Tuple)) else []
    asks = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)
    if not asks or getattr(test.left, "id", None) != getattr(loop.target, "id", ""):
        return False
    asked = test.comparators[0]
    spelled = [one.value for one in listed if isinstance(one, ast.Constant)]
    return isinstance(asked, ast.Constant) and 0 < len(listed) == len(spelled) and asked.value not in spelled
