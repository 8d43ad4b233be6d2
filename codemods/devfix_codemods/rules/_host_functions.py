"""Functions that work on the host alone: by name or docstring, by what they refuse, or by where they are called."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._host_literals import is_host_literal


def is_for_host(program: Program, function: scope.Function) -> bool:
    """Whether no tensor on a device gets through the function, as far as its file says."""
    data = program.source.data
    if not any(one in data for one in (b"cpu", b"CPU", b"is_cuda", b"host")):
        return False
    if says_host(function.name) or is_said_of_host(program, function) or _refuses(function):
        return True
    return _is_called_on_host(program, function) or _asks_a_helper(program, function)


def is_said_of_host(program: Program, function: scope.Function) -> bool:
    """Whether the docstring of the function says that its tensors are on the host, or that of what it stands in.

    A class or a file that speaks of other places too has functions for these.
    """
    own = ast.get_docstring(function) or ""
    around = (one for one in program.names.ancestors(function) if isinstance(one, (*_DOCUMENTED, ast.Module)))
    outer = (ast.get_docstring(one) or "" for one in around)
    return _OF_THE_HOST.search(own) is not None or any(
        _OF_THE_HOST.search(one) is not None and _ELSEWHERE.search(one) is None for one in outer
    )


_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ELSEWHERE = re.compile(r"(?i)cuda|gpu|device|accelerat")
_OF_THE_HOST = re.compile(
    r"(?i)\bcpu[-\s]tensors?\b|\btensors?\s+(?:(?:is|are|must be|lives?)\s+)?on\s+(?:the\s+)?(?:cpu|host)\b"
    r"(?!\s*(?:/|,|or\b|and\b)\s*(?:on\s+)?(?:the\s+|a\s+)?(?:cuda|gpu|device|accelerat))"
)


def says_host(name: str) -> bool:
    """`groups_cpu`, `host_part`."""
    return not {"cpu", "host"}.isdisjoint(name.rpartition(".")[2].lower().split("_"))


def _refuses(function: scope.Function) -> bool:
    """`if x.device.type != "cpu": raise`, `assert x.is_cpu`."""
    for one in ast.walk(function):
        if isinstance(one, ast.If) and isinstance(one.body[-1], ast.Raise) and _asks_for(one.test, host=False):
            return True
        if isinstance(one, ast.Assert) and _asks_for(one.test, host=True):
            return True
    return False


def _asks_for(test: ast.expr, *, host: bool) -> bool:
    """Whether a test holds for tensors of the host alone, or holds for all that are elsewhere."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _asks_for(inner, host=not host)
        case ast.BoolOp(op=op, values=parts):
            return isinstance(op, ast.And) is host and any(_asks_for(one, host=host) for one in parts)
        case ast.Attribute(attr="is_cpu"):
            return host
        case ast.Attribute(attr="is_cuda"):
            return not host
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[other]):
            asked = (dotted(left) or "").endswith((".device", ".device.type"))
            return asked and isinstance(op, ast.Eq) is host and is_host_literal(other)
    return False


def _asks_a_helper(program: Program, function: scope.Function) -> bool:
    """Whether it hands something to a function of the file that refuses what is not on the host."""
    called = {dotted(one.func) for one in ast.walk(function) if isinstance(one, ast.Call)}
    helpers = (one for one in program.tree.body if isinstance(one, scope.Function) and one.name in called)
    return any(_refuses(one) for one in helpers)


def _is_called_on_host(program: Program, function: scope.Function) -> bool:
    """Whether a private function is called under `if x.device.type == "cpu"` alone."""
    if not function.name.startswith("_") or function.name.startswith("__"):
        return False
    calls = [one for one in program.names.calls if (dotted(one.func) or "").rpartition(".")[2] == function.name]
    return bool(calls) and all(any(_asks_for(test, host=True) for test in _held(program, one)) for one in calls)


def _held(program: Program, node: ast.AST) -> Iterator[ast.expr]:
    """The tests that hold where `node` stands."""
    inner = node
    for outer in program.names.ancestors(node):
        if isinstance(outer, ast.If) and inner in outer.body:
            yield outer.test
        inner = outer
