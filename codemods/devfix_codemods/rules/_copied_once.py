"""Tensors of which a loop reads one part after the other: one copy to the host before the loop, for all of them."""

import ast

from devfix_codemods import scope
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.flow.tree import stored
from devfix_codemods.program import Program

_LOOKS = frozenset({"shape", "ndim", "dtype", "size", "dim", "numel"})


def copied_before_loop(program: Program, node: ast.expr, read: set[ast.expr]) -> InsertStatement | None:
    """`x = x.cpu()` above the loop that reads `x[i]`; None where more than what is `read` on the host sees the copy."""
    name, first = node, node
    while isinstance(name, ast.Subscript):
        name, first = name.value, name
    loop = next((one for one in program.names.ancestors(node) if isinstance(one, ast.For | scope.Function)), None)
    if name is node or not isinstance(name, ast.Name) or not isinstance(loop, ast.For) or loop.orelse:
        return None
    if not isinstance(first, ast.Subscript) or not _is_of_tensor(program, first, name):
        return None
    if _is_bound(loop, name.id) or not _only_parts_are_read(program, loop, name.id, read):
        return None
    if not _is_fresh_each_time(program, loop, name.id) or _is_read_later(program, loop, name.id):
        return None
    return InsertStatement(program.source.span(loop), "before", f"{name.id} = {name.id}.cpu()")


def _is_of_tensor(program: Program, item: ast.Subscript, name: ast.Name) -> bool:
    """Whether what is indexed is no list or mapping: by several indices at once, or by its other uses."""
    if isinstance(item.slice, ast.Tuple):
        return not any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in item.slice.elts)
    function = scope.function_around(program, name)
    return function is not None and name.id in program.unit.evidence[function].surely


def _is_bound(loop: ast.For, name: str) -> bool:
    return name in stored(loop.target) or any(name in stored(one) for one in loop.body)


def _only_parts_are_read(program: Program, loop: ast.For, name: str, read: set[ast.expr]) -> bool:
    """Whether the loop looks at nothing but items that are read on the host, and what the host knows anyway."""
    for one in ast.walk(loop):
        if isinstance(one, ast.Name) and one.id == name:
            parent = program.names.parent(one)
            if isinstance(parent, ast.Attribute) and parent.attr in _LOOKS:
                continue
            if not any(item in read for item in program.names.ancestors(one)):
                return False
    return True


def _is_fresh_each_time(program: Program, loop: ast.For, name: str) -> bool:
    """Whether the loops around bind the name again, above this one."""
    inner: ast.stmt = loop
    for outer in program.names.ancestors(loop):
        if isinstance(outer, scope.Function):
            return True
        if isinstance(outer, ast.For | ast.While):
            block = scope.block_of(program, inner)
            return any(name in stored(one) for one in block[: block.index(inner)])
        inner = outer if isinstance(outer, ast.stmt) else inner
    return False


def _is_read_later(program: Program, loop: ast.For, name: str) -> bool:
    function = scope.function_around(program, loop)
    return function is None or any(
        isinstance(one, ast.Name)
        and one.id == name
        and (one.lineno > (loop.end_lineno or loop.lineno) or _is_inner(program, one, function))
        for one in ast.walk(function)
    )


def _is_inner(program: Program, name: ast.Name, function: ast.AST) -> bool:
    """In a function within the function."""
    around = next(
        (one for one in program.names.ancestors(name) if isinstance(one, scope.Function | ast.Lambda)), function
    )
    return around is not function
