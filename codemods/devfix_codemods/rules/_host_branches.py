"""Code that runs on the host by what stands around it: a branch for the host, or a function that pins its device."""

import ast
import re

from devfix_codemods import scope
from devfix_codemods.flow.evidence import last_name
from devfix_codemods.program import Program
from devfix_codemods.rules._host_literals import is_host_literal
from devfix_codemods.rules._taken_to_host import goes_to_host

_GUARD = re.compile(r"cuda|device|cpu|\bgpu")
_PLACE = re.compile(r"\.device\b|\.is_(?:cuda|cpu)\b|\bdevice\.type\b")
_ASKS = re.compile(r"cuda|device|cpu|gpu")
_GPU = re.compile(r"(?i)^(?!n_|num_|multi|single|per_).*gpu(?:_available)?$")
_PINNED = frozenset({"pinned", "is_pinned", "pin_memory"})
_ELSEWHERE = re.compile(r"cuda|\bmps\b|\.\w*device\b|accelerat|\bgpu|\bget_\w*device")


def is_guarded(program: Program, node: ast.AST) -> bool:
    """On a branch that asks where the tensor is, or behind one that refuses, or brings, what is elsewhere."""
    inner, names = node, set(scope.reads(node))
    for around in program.names.ancestors(node):
        if isinstance(around, ast.If | ast.IfExp) and inner is not around.test:
            holds = inner in around.body if isinstance(around, ast.If) else inner is around.body
            if _GUARD.search(ast.unparse(around.test)) or _tells_host(around.test, holds=holds):
                return True
        if isinstance(around, ast.ClassDef):
            return False
        if isinstance(inner, ast.stmt):
            above = _above(program, inner)
            if any(map(_refuses, above)) or any(_brings(program, one, names) for one in above):
                return True
        inner = around
    return False


def _tells_host(test: ast.expr, *, holds: bool) -> bool:
    """Whether a condition says, by holding or not, that tensors are on the host: `not self.is_gpu`, `x.is_pinned()`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _tells_host(inner, holds=not holds)
        case ast.BoolOp(op=op, values=values):
            return isinstance(op, ast.And) is holds and any(_tells_host(one, holds=holds) for one in values)
        case ast.Call(func=asked, args=[]):
            return _tells_host(asked, holds=holds)
    name = last_name(test) or ""
    return name in _PINNED if holds else _GPU.search(name) is not None


def _above(program: Program, statement: ast.stmt) -> list[ast.stmt]:
    block = scope.block_of(program, statement)
    return block[: block.index(statement)]


def _refuses(statement: ast.stmt) -> bool:
    """`if x.device.type != "cpu": raise …`, `if x.is_cuda: return …`, `assert not x.is_cuda`."""
    if isinstance(statement, ast.Assert):
        return _PLACE.search(ast.unparse(statement.test)) is not None
    if not isinstance(statement, ast.If) or not isinstance(statement.body[-1], ast.Raise | ast.Return):
        return False
    return _PLACE.search(ast.unparse(statement.test)) is not None or _tells_host(statement.test, holds=False)


def _brings(program: Program, statement: ast.stmt, names: set[str]) -> bool:
    """`if device != "cpu": x = x.cpu()`."""
    if not isinstance(statement, ast.If) or not _ASKS.search(ast.unparse(statement.test)):
        return False
    return any(
        isinstance(one, ast.Assign)
        and not names.isdisjoint(scope.stored(one))
        and isinstance(one.value, ast.Call)
        and goes_to_host(program, one.value)
        for one in statement.body
    )


def pins_host(program: Program, node: ast.AST) -> bool:
    """Whether the function says `device = torch.device("cpu")`, uses that, and has no word of another device."""
    function = scope.function_around(program, node)
    if function is None:
        return False
    pinned = {
        one.targets[0].id: one
        for one in ast.walk(function)
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and is_host_literal(one.value)
    }
    if not any(len(list(scope.changes(function, name))) == 1 and any(scope.loads(function, {name})) for name in pinned):
        return False
    text = ast.unparse(ast.Module(function.body, [])).replace("torch.device(", "(")
    return _ELSEWHERE.search(text) is None
