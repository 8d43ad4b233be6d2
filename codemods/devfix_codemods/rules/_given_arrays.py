"""What has no device, by the calls of a function: arrays, lists and numbers that it is visibly given."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.names import Names
from devfix_codemods.flow.tables import LEGACY_CONSTRUCTORS
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program
from devfix_codemods.rules._called import called_function, called_method
from devfix_codemods.rules._callers import arguments
from devfix_codemods.rules._tensor_words import ARRAY_PACKAGES

_DEPTH = 4
"""How many names, methods and operators are looked through from an argument to what made it."""

_CALLERS = 2
"""How far up the callers of a function are asked that hand on what they were given."""


def is_given_other(program: Program, function: scope.Function, name: str, depth: int = _CALLERS) -> bool:
    """Whether a caller gives the parameter `name` what has no device, whatever that is said to be.

    So it does by a helper that returns such, or where it hands on what it was given itself; and a method of the same
    name that makes a tensor of its `name` is given none.
    """
    if name not in scope.parameters(function):
        return False
    given = [(where, one) for where, one in arguments(program, function, name) if one is not None]
    return (
        any(has_no_device(where.names, one) or _is_of_helper(where, one) for where, one in given)
        or any(_is_handed_on(where, one, depth) for where, one in given)
        or _is_copied_by_twin(program, function, name)
    )


def gives_no_device(program: Program, node: ast.expr) -> bool:
    """Whether an expression surely gives an array, a list or a number, maybe by a function of the project."""
    return has_no_device(program.names, node) or _is_of_helper(program, node)


def _is_of_helper(program: Program, node: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether a function or method of the project gives it, and returns a list somewhere: `found.tolist()`."""
    value = _last_value(program.names, node, alone=True) if isinstance(node, ast.Name) else node
    if depth == 0 or not isinstance(value, ast.Call):
        return False
    found = called_function(program, value) or called_method(program, value)
    returned = (one for one in walk(found[1]) if isinstance(one, ast.Return)) if found is not None else ()
    return found is not None and any(
        has_no_device(found[0].names, one.value) or _is_of_helper(found[0], one.value, depth - 1)
        for one in returned
        if one.value is not None and not _says_nothing(one.value)
    )


def _says_nothing(node: ast.expr) -> bool:
    """`return []`, `return None`, of a function that has nothing to give."""
    empty = isinstance(node, (ast.List, ast.Tuple)) and not node.elts
    return empty or isinstance(node, ast.Constant) or (isinstance(node, ast.Dict) and not node.keys)


def _is_handed_on(program: Program, node: ast.expr, depth: int) -> bool:
    """Whether it is the parameter of a caller that is given a list itself."""
    function = scope.function_around(program, node)
    if depth == 0 or function is None or not isinstance(node, ast.Name) or any(scope.stores(function, node.id)):
        return False
    return is_given_other(program, function, node.id, depth - 1)


def _is_copied_by_twin(program: Program, function: scope.Function, name: str) -> bool:
    """Whether another class of the file has this method too, and computes with `torch.tensor(name)` in it."""
    twins = [
        one
        for owner in program.names.classes
        for one in owner.body
        if isinstance(one, scope.Function) and one.name == function.name and one is not function
    ]
    return isinstance(program.names.parent(function), ast.ClassDef) and any(
        name in scope.parameters(one) and not any(scope.stores(one, name)) and _copies(program, one, name)
        for one in twins
    )


def _copies(program: Program, function: scope.Function, name: str) -> bool:
    return any(
        isinstance(one, ast.Call)
        and program.names.qualified(one.func) in {"torch.tensor", *LEGACY_CONSTRUCTORS}
        and any(isinstance(each, ast.Name) and each.id == name for each in one.args[:1])
        for one in walk(function)
    )


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


def _last_value(names: Names, node: ast.Name, *, alone: bool = False) -> ast.expr | None:
    """What the last assignment above gives a name, in the same function or script; of several names, the whole.

    `alone` asks for one that gives it to no other name.
    """
    around = next((one for one in names.ancestors(node) if isinstance(one, (scope.Function, ast.Module))), None)
    last = scope.last_assignment(around, node.id, node.lineno) if around is not None else None
    targets = last.targets if isinstance(last, ast.Assign) else [last.target] if last is not None else []
    if last is None or not all(isinstance(one, (ast.Name, ast.Tuple)) for one in targets):
        return None
    several = any(isinstance(one, ast.Tuple) for one in targets)
    return last.value if not several or (isinstance(last.value, ast.Call) and not alone) else None
