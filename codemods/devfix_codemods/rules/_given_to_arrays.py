"""Tensors that a library of arrays reads as they are: on every run that gets past it, they are on the host."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.readouts import METHODS_FIRST
from devfix_codemods.program import Program
from devfix_codemods.rules._tensor_words import ARRAY_PACKAGES


def is_given_to_arrays(program: Program, call: ast.Call) -> bool:
    """Whether the tensor of a factory is always read so, by the one name that it gets: `pd.DataFrame({"sum": sums})`.

    What is added to it in place, or put into it, leaves it where it is.
    """
    return any(_is_read(program, one) for one in _always_loaded(program, call))


def is_read_by_numpy_after(program: Program, call: ast.Call, met: ast.expr | ast.stmt) -> bool:
    """Whether numpy always reads it so, `sums.numpy()`, below what it meets: it was still on the host there."""
    loads = (one for one in _always_loaded(program, call) if one.lineno > met.lineno)
    return any(_is_seen_by_numpy(program, one) for one in loads)


def _always_loaded(program: Program, call: ast.Call) -> Iterator[ast.Name]:
    """The loads of the one name that the tensor gets, in statements that always run after."""
    function, statement = scope.function_around(program, call), program.names.statement(call)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if function is not None:
            stores = scope.stores(function, name)
        case _:
            return
    if all(program.names.statement(one) is statement or _is_added_to(program, one) for one in stores):
        for one in scope.loads(function, {name}):
            if _is_always_run_after(program, program.names.statement(one), statement):
                yield one


def _is_added_to(program: Program, store: ast.Name) -> bool:
    return isinstance(program.names.parent(store), ast.AugAssign)


def _is_read(program: Program, node: ast.Name) -> bool:
    """Whether a name is an argument of a function of such a library, maybe in a list or a mapping."""
    outer: ast.AST | None = program.names.parent(node)
    while isinstance(outer, (ast.Dict, ast.List, ast.Tuple, ast.keyword)):
        outer = program.names.parent(outer)
    if not isinstance(outer, ast.Call) or outer.func is node:
        return False
    reader = program.names.qualified(outer.func) or ""
    return reader.startswith(ARRAY_PACKAGES) and METHODS_FIRST.fullmatch(reader) is None


def _is_seen_by_numpy(program: Program, node: ast.Name) -> bool:
    method = program.names.parent(node)
    if not isinstance(method, ast.Attribute) or method.attr != "numpy":
        return False
    return scope.is_always_evaluated(program, method)


def _is_always_run_after(program: Program, later: ast.stmt, earlier: ast.stmt) -> bool:
    """Whether a statement runs whenever the end of the block of another one is reached."""
    block = scope.block_of(program, later)
    return later.lineno > earlier.lineno and any(one in block for one in (earlier, *program.names.ancestors(earlier)))
