"""Names that a function uses as what no tensor is: a number that it counts by, or an object with parts of its own."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program


def is_no_tensor(program: Program, name: str, node: ast.AST) -> bool:
    """Whether the function around `node` counts by `name` (dotted), or reads attributes of it that tensors have not.

    An object with parts has a device all the same where the file reads `name.device`.
    """
    function = scope.function_around(program, node)
    if function is None:
        return False
    return _has_parts(program, function, name) or name in counted(program, function)


def _has_parts(program: Program, function: scope.Function, name: str) -> bool:
    """`x.cores`, `x.size` without a call. `x.main_grad = y` gives a tensor what it had not."""
    read = [one for one in walk(function) if isinstance(one, ast.Attribute) and dotted(one.value) == name]
    if any(one.attr == "device" for one in read):
        return False
    return any(
        one.attr not in _OF_TENSORS and isinstance(one.ctx, ast.Load) and not _is_called(program, one) for one in read
    )


def _is_called(program: Program, node: ast.expr) -> bool:
    parent = program.names.parent(node)
    return isinstance(parent, ast.Call) and parent.func is node


_OF_TENSORS = (
    tables.TENSOR_ATTRIBUTES
    | tables.TENSOR_PLAIN_ATTRIBUTES
    | {"grad_fn", "is_sparse", "is_quantized", "is_meta", "is_mps", "is_cpu", "is_nested", "itemsize", "nbytes"}
    | {"retains_grad", "output_nr", "_version", "__class__", "__dict__"}
)


def counted(program: Program, function: scope.Function) -> set[str]:
    """The dotted names by which a function counts, and those that it computes of such numbers alone."""
    found = {text for one in _counts(program, function) if (text := dotted(one)) is not None}
    assigned = [one for one in walk(function) if isinstance(one, ast.Assign) and isinstance(one.value, ast.BinOp)]
    while found:
        more = {name for one in assigned if _is_number(one.value, found) for name in scope.stored(one)} - found
        if not more:
            break
        found |= more
    return found


def _counts(program: Program, function: scope.Function) -> Iterator[ast.expr]:
    """`range(n)`, `torch.zeros(n, m)`, `torch.zeros((n, m))`."""
    for one in walk(function):
        if not isinstance(one, ast.Call) or not one.args:
            continue
        if dotted(one.func) == "range":
            yield from one.args
        elif tables.canonical(program.names.qualified(one.func) or "") in _SIZED:
            sizes = one.args[0]
            yield from sizes.elts if isinstance(sizes, ast.Tuple | ast.List) else one.args


_SIZED = frozenset(f"torch.{name}" for name in tables.SIZED)


def _is_number(value: ast.expr, numbers: set[str]) -> bool:
    match value:
        case ast.Constant(value=int() | float()):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_number(left, numbers) and _is_number(right, numbers)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand, numbers)
    return dotted(value) in numbers
