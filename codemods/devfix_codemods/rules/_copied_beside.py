"""Tensors that a function copies to the host in one place, and gives to numpy as they are in another."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.readouts import METHODS_FIRST, reads_host
from devfix_codemods.program import Program
from devfix_codemods.rules._conversions import converted
from devfix_codemods.rules._taken_to_host import moves_to_host

_COPY = re.compile(rb"(?:^|[^\w.])([A-Za-z_]\w*)(?:\.detach\(\))?\.cpu\(\)")
_TAKES_NUMBERS = re.compile(
    r"numpy\.(?:zeros|ones|empty|full|arange|linspace|eye|identity|tri|indices|random\..*|u?int\d*|float\d*|bool_?|ceil"
    r"|floor|sqrt|log\d*|exp)"
)
"""Functions that are asked for numbers: those that a tensor of one element can be, wherever it is."""


def may_copy_beside(data: bytes) -> bool:
    """Whether a name that is copied to the host, `x.cpu()`, may also be given to a function as it is."""
    names = set(_COPY.findall(data))
    return bool(names) and re.search(rb"\w\((?:[^()\n]*,)?\s*(?:%b)\s*[,)\[]" % b"|".join(names), data) is not None


def copied_beside(program: Program) -> Iterator[tuple[ast.expr, str]]:
    """What numpy and its like read as it is, though the function around copies the same tensor to the host as well."""
    if not may_copy_beside(program.source.data):
        return
    copies = list(_copies(program))
    for call in program.names.calls if copies else ():
        tensor = converted(call)
        for one in _read(program, call) if tensor is None else (tensor,):
            name = scope.indexed(one)
            if isinstance(name, ast.Name) and any(_is_beside(program, name, copy) for copy in copies):
                yield one, f"`{ast.unparse(call.func)}`" if tensor is None else "`.numpy()`"


def _copies(program: Program) -> Iterator[ast.Name]:
    """`x` in `y = x.detach().cpu()`, but for `x = x.cpu()` and what throws the copy away."""
    for call in program.names.calls:
        inner = call.func.value if isinstance(call.func, ast.Attribute) and moves_to_host(call) else None
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "detach":
            inner = inner.func.value
        if isinstance(inner, ast.Name) and not isinstance(program.names.parent(call), ast.Expr):
            yield inner


def _read(program: Program, call: ast.Call) -> Iterator[ast.expr]:
    """The arguments that a function reads as arrays."""
    name = program.names.qualified(call.func)
    if name is None or not reads_host(name):
        return
    if not METHODS_FIRST.fullmatch(name) and not _TAKES_NUMBERS.fullmatch(name):
        yield from scope.given_to(call)


def _is_beside(program: Program, name: ast.Name, copy: ast.Name) -> bool:
    """Whether both are one value, given once, and the copy is made wherever the other read is."""
    if name.id != copy.id or scope.function_around(program, name) is not scope.function_around(program, copy):
        return False
    if len(program.bindings.seen(name.id, name)) != 1:
        return False
    return _arms(program, copy) <= _arms(program, name)


def _arms(program: Program, node: ast.AST) -> set[tuple[ast.AST, str]]:
    """The branches around a node, each with the part of it that the node stands in."""
    found, inner = set[tuple[ast.AST, str]](), node
    for outer in program.names.ancestors(node):
        if isinstance(outer, scope.Function):
            break
        if isinstance(outer, _BRANCHES):
            found |= {(outer, field) for field, value in ast.iter_fields(outer) if _holds(value, inner)}
        inner = outer
    return found


_BRANCHES = (ast.If, ast.IfExp, ast.Try, ast.ExceptHandler, ast.Match, ast.match_case, ast.BoolOp, ast.Lambda)


def _holds(value: object, node: ast.AST) -> bool:
    return value is node or (isinstance(value, list) and any(one is node for one in value))
