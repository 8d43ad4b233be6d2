"""Parameters that a function reads as indices alone: these may be on the host, wherever all else is."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.program import Program


def is_only_index(program: Program, name: str, node: ast.AST) -> bool:
    """Whether the function around `node` measures its parameter `name` or picks by it, `x[name[i]]`, and no more."""
    function = scope.function_around(program, node)
    if function is None or name not in scope.parameters(function) or any(scope.stores(function, name)):
        return False
    read = [one for one in scope.loads(function, {name}) if not _is_measured(program, one)]
    return bool(read) and all(_picks(program, one) for one in read)


def _is_measured(program: Program, node: ast.Name) -> bool:
    """`x.shape`, `x.size(0)`, `len(x)`."""
    parent = program.names.parent(node)
    if isinstance(parent, ast.Attribute):
        return parent.attr in tables.TENSOR_SHAPE_METHODS | {"shape", "ndim"}
    return isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "len"


def _picks(program: Program, node: ast.Name) -> bool:
    """Whether it stands in the index of something, maybe within a call."""
    inner: ast.AST = node
    for outer in program.names.ancestors(node):
        if isinstance(outer, ast.Subscript) and inner is outer.slice:
            return True
        if isinstance(outer, ast.stmt):
            return False
        inner = outer
    return False
