"""Tensors that go as they are to a library of arrays: on every run that gets past it, they are on the host."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.readouts import METHODS_FIRST
from devfix_codemods.program import Program
from devfix_codemods.rules._tensor_words import ARRAY_PACKAGES


def is_given_to_arrays(program: Program, call: ast.Call) -> bool:
    """Whether the tensor of a factory is always read so, by the one name that it gets: `pd.DataFrame({"sum": sums})`.

    What is added to it in place, or put into it, leaves it where it is.
    """
    function, statement = scope.function_around(program, call), program.names.statement(call)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            stores = [] if function is None else scope.stores(function, name)
        case _:
            return False
    kept = (program.names.statement(one) is statement or _is_added_to(program, one) for one in stores)
    return (
        function is not None
        and all(kept)
        and any(
            _is_read(program, one) and _is_always_run_after(program, program.names.statement(one), statement)
            for one in scope.loads(function, {name})
        )
    )


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


def _is_always_run_after(program: Program, later: ast.stmt, earlier: ast.stmt) -> bool:
    """Whether a statement runs whenever the end of the block of another one is reached."""
    block = scope.block_of(program, later)
    return later.lineno > earlier.lineno and any(one in block for one in (earlier, *program.names.ancestors(earlier)))
