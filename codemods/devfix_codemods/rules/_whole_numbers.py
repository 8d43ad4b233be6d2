"""Matrix products of whole numbers, which the host computes and CUDA does not."""

import ast
import re
from collections.abc import Sequence

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted, last_name
from devfix_codemods.program import Program

_WHOLE = re.compile(r"(?:u?int\d*|long|short)$")
_OF_WHOLE = frozenset({"torch.LongTensor", "torch.IntTensor", "torch.ShortTensor", "torch.randint", "torch.randperm"})
_CONVERSIONS = frozenset({"float", "double", "half", "bfloat16", "to", "type", "type_as"})


def are_multiplied(program: Program, sources: Sequence[ast.Call]) -> bool:
    """Whether a matrix product is made of whole numbers of these factories, before they are converted.

    Moved to CUDA it raises `"addmm_cuda" not implemented for 'Int'`.
    """
    functions = {scope.function_around(program, one) for one in sources}
    function = functions.pop() if len(functions) == 1 else None
    if function is None or not all(_are_whole(program, one) for one in sources):
        return False
    born = {name for one in sources for name in scope.stored(program.names.statement(one))}
    assigned = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and not _converts(one.value)]
    return any(
        not born.isdisjoint(factors) and factors <= scope.computed_of([s for s in assigned if s.lineno < line], born)
        for line, factors in _products(program, function)
    )


def _are_whole(program: Program, call: ast.Call) -> bool:
    name = tables.canonical(program.names.qualified(call.func) or "")
    types = [one.value for one in call.keywords if one.arg == "dtype"]
    if types:
        return _WHOLE.match((dotted(types[0]) or "").rpartition(".")[2]) is not None
    return name in _OF_WHOLE


def _converts(node: ast.expr) -> bool:
    """Whether an expression has floating point numbers of whole ones."""
    return any(
        (isinstance(one, ast.Call) and last_name(one.func) in _CONVERSIONS)
        or (isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div))
        or (isinstance(one, ast.Constant) and isinstance(one.value, float))
        for one in ast.walk(node)
    )


def _products(program: Program, function: scope.Function) -> list[tuple[int, set[str]]]:
    """The lines of the matrix products in a function, with the names of their factors."""
    found = []
    for one in ast.walk(function):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.MatMult):
            factors = [one.left, one.right]
        elif isinstance(one, ast.Call) and last_name(one.func) in tables.MATRIX_PRODUCTS:
            of_torch = (program.names.qualified(one.func) or "").startswith("torch.")
            factors = (
                one.args[:2] if of_torch or not isinstance(one.func, ast.Attribute) else [one.func.value, *one.args]
            )
        else:
            continue
        if not any(map(_converts, factors)):
            found.append((one.lineno, {name for each in factors for name in scope.reads(each)} - {"torch"}))
    return found
