"""Tensors of which the code itself says that they are on the host: by their name, or by refusing any other place."""

import ast
from collections.abc import Iterable

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted, last_name
from devfix_codemods.program import Program
from devfix_codemods.rules._host_functions import says_host


def sounds_like_host(node: ast.expr) -> bool:
    """`groups_cpu`, `self.host_buffer[0]`."""
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
        if isinstance(node, ast.Attribute) and node.attr in {"detach", "data", "contiguous", "float", "long"}:
            node = node.value
    return says_host(last_name(node) or "")


def is_named_for_host(program: Program, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
    """`counts_cpu.view(3)[0] * 2`, and a name that got its value from there."""
    while (inner := _inner(node)) is not None:
        node = inner
    if sounds_like_host(node):
        return True
    function = scope.function_around(program, node)
    if function is None or not isinstance(node, ast.Name) or node.id in seen:
        return False
    statements = (program.names.statement(one) for one in scope.stores(function, node.id))
    values = (one.value for one in statements if isinstance(one, ast.Assign))
    return any(is_named_for_host(program, one, seen | {node.id}) for one in values)


def _inner(node: ast.expr) -> ast.expr | None:
    """The tensor of which another one is computed alone, which is where that is."""
    match node:
        case ast.BinOp(left=inner, right=ast.Constant()) | ast.BinOp(left=ast.Constant(), right=inner):
            return inner
        case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner):
            return inner
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _STAY:
            return inner
    return None


_STAY = (tables.TENSOR_EVIDENCE_METHODS | tables.TENSOR_ONLY_METHODS | {"sum", "cumsum", "max", "min"}) - {"type_as"}


def is_kept_on_host(program: Program, calls: Iterable[ast.Call]) -> bool:
    """Whether a tensor that is made here is called one of the host, or asked later whether it is there.

    `if not x.device.type == "cpu": raise`, `assert x.is_cpu`, `assert x.device == torch.device("cpu")`.
    """
    return any(_is_kept(program, call) for call in calls)


def _is_kept(program: Program, call: ast.Call) -> bool:
    statement = program.names.statement(call)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return False
    names = scope.stored(statement)
    if any(map(says_host, names)):
        return True
    function = scope.function_around(program, call)
    if function is None or b"cpu" not in program.source.data:
        return False
    asked = (one for one in ast.walk(function) if isinstance(one, (ast.If, ast.Assert)))
    return any(one.lineno > call.lineno and _demands(one, names) for one in asked)


def _demands(statement: ast.If | ast.Assert, names: set[str]) -> bool:
    """Whether what is not on the host is refused."""
    if isinstance(statement, ast.If) and not isinstance(statement.body[-1], ast.Raise):
        return False
    for one in ast.walk(statement.test):
        if isinstance(one, ast.Attribute) and one.attr in {"is_cpu", "is_cuda"} and dotted(one.value) in names:
            return True
        if isinstance(one, ast.Compare) and "cpu" in ast.unparse(one):
            return any(dotted(one.left) in {f"{name}.device", f"{name}.device.type"} for name in names)
    return False
