"""What has no device, by the calls of a function: arrays, lists and numbers that it is visibly given."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.names import Names
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program
from devfix_codemods.rules._callers import arguments
from devfix_codemods.rules._tensor_words import ARRAY_PACKAGES

_DEPTH = 4
"""How many names, methods and operators are looked through from an argument to what made it."""


def is_given_other(program: Program, function: scope.Function, name: str) -> bool:
    """Whether a caller gives the parameter `name` what has no device, whatever that is said to be."""
    given = arguments(program, function, name) if name in scope.parameters(function) else []
    return any(one is not None and has_no_device(where.names, one) for where, one in given)


def has_no_device(names: Names, node: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether an expression surely is an array, a list or a number."""
    if depth == 0:
        return False
    match node:
        case ast.Constant(value=value):
            return value is not None
        case ast.List() | ast.ListComp() | ast.Tuple() | ast.Dict() | ast.DictComp() | ast.Set() | ast.JoinedStr():
            return True
        case ast.Call(func=function):
            return _makes_array(names, function, depth)
        case ast.BinOp(left=left, right=right):
            return any(_is_array(names, one, depth - 1) for one in (left, right))
        case ast.Subscript(value=value) | ast.Attribute(value=value, attr="T" | "values"):
            return _is_array(names, value, depth - 1)
        case ast.Name():
            value = _last_value(names, node)
            return value is not None and has_no_device(names, value, depth - 1)
    return False


def _is_array(names: Names, node: ast.expr, depth: int) -> bool:
    """As above, but no number or list: these may be computed with tensors, or hold them."""
    plain = isinstance(node, (ast.Constant, ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp, ast.Set))
    if isinstance(node, ast.Name):
        value = _last_value(names, node)
        return value is not None and depth > 0 and _is_array(names, value, depth - 1)
    return not plain and has_no_device(names, node, depth)


def _makes_array(names: Names, function: ast.expr, depth: int) -> bool:
    """`np.zeros(3)`, `x.numpy()`, `x.astype(…)`, and methods of such an array."""
    if isinstance(function, ast.Name) and function.id in _MAKES_PLAIN and not names.bound_in_module(function.id):
        return True
    qualified = names.qualified(function) or ""
    if qualified.startswith(ARRAY_PACKAGES):
        return True
    if not isinstance(function, ast.Attribute) or qualified.startswith("torch."):
        return False
    return function.attr in _GIVES_ARRAY or _is_array(names, function.value, depth - 1)


_GIVES_ARRAY = frozenset({"numpy", "tolist", "item", "astype", "to_numpy"})
_MAKES_PLAIN = frozenset({"list", "float", "int", "len", "sorted", "range", "str"})


def _last_value(names: Names, node: ast.Name) -> ast.expr | None:
    """What the last assignment above gives a name, in the same function or script; of several names, the whole."""
    around = next((one for one in names.ancestors(node) if isinstance(one, (scope.Function, ast.Module))), None)
    found = (
        [
            one
            for one in walk(around)
            if isinstance(one, ast.Assign) and one.lineno < node.lineno and node.id in scope.stored(one)
        ]
        if around is not None
        else []
    )
    last = max(found, key=lambda one: one.lineno, default=None)
    if last is None or not all(isinstance(one, (ast.Name, ast.Tuple)) for one in last.targets):
        return None
    several = any(isinstance(one, ast.Tuple) for one in last.targets)
    return last.value if not several or isinstance(last.value, ast.Call) else None
