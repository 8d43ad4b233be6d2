"""What a driver holds to have statements of a function run outside of it. Its own text goes into the driver."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from typing import Any


class Left(BaseException):
    """Statements that run alone returned from their function."""


class Alone(ast.NodeTransformer):
    """Changes what has a meaning only in a function of that class."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner.__name__ if owner is not None else ""

    def visit(self, node: ast.AST) -> Any:
        inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
        return node if isinstance(node, inner) else super().visit(node)

    def visit_Return(self, node: ast.Return) -> Any:
        self.generic_visit(node)
        given = [] if node.value is None else [node.value]
        return ast.copy_location(ast.Raise(ast.Call(ast.Name("Left", ast.Load()), given, []), None), node)

    def visit_Yield(self, node: ast.Yield) -> Any:
        self.generic_visit(node)
        return node.value or ast.copy_location(ast.Constant(None), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        return ast.copy_location(ast.Pass(), node)

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self.owner:
            node.args = [ast.Name("its_class", ast.Load()), ast.Name("self", ast.Load())]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        node.attr = mangled(node.attr, self.owner)
        return node


def mangled(name: str, owner: str) -> str:
    """What a private name of that class is outside of it; any other name itself."""
    is_private = owner and name.startswith("__") and not name.endswith("__")
    return f"_{owner.lstrip('_')}{name}" if is_private else name


def leaves(node: ast.AST) -> bool:
    """Whether a statement ends a loop around it, or begins its next round."""
    if isinstance(node, (ast.Break, ast.Continue)):
        return True
    if isinstance(node, (ast.For, ast.While, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return any(leaves(one) for one in getattr(node, "orelse", ()))
    return any(leaves(one) for one in ast.iter_child_nodes(node))


def inner_blocks(node: ast.AST) -> Iterator[list[Any]]:
    """The blocks of a compound statement, the first the one that its head leads to."""
    for name in ("body", "orelse", "finalbody"):
        if getattr(node, name, None):
            yield getattr(node, name)
    for one in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield one.body


def definition(scope: Any, path: list[str]) -> Any:
    """The function or class with that qualified name, also below `if` and `try`; None where there is none.

    The last definition of a name counts, but which ran nobody can tell: the first is taken.
    """
    for part in path:
        scope = next((one for one in _defined(scope) if one.name == part), None)
        if scope is None:
            return None
    return scope


def _defined(scope: Any) -> Iterator[Any]:
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node
        elif isinstance(node, (ast.If, ast.Try, ast.ExceptHandler, ast.With)):
            yield from _defined(node)


def complete(file: str) -> None:
    """Have what a command line must give be guessed where it is not given."""
    sys.argv[:] = [file]
    parse = argparse.ArgumentParser.parse_known_args

    def parse_known_args(self: Any, *given: Any, **named: Any) -> Any:
        needed = [one for one in self._actions if one.required and one.default is None]
        for one in needed:
            one.required, one.nargs = False, "?" if not one.option_strings and one.nargs is None else one.nargs
        found, rest = parse(self, *given, **named)
        for one in needed:
            guess = {int: 2, float: 0.5}.get(one.type, one.dest)
            if getattr(found, one.dest, None) is None:
                setattr(found, one.dest, next(iter(one.choices)) if one.choices else guess)
        return found, rest

    parser: Any = argparse.ArgumentParser
    parser.parse_known_args = parse_known_args
