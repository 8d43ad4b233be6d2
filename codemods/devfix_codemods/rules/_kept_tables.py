"""Tensors with dimensions that a class which is no module makes on the host and keeps: no `.to` takes them along."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.program import Program
from devfix_codemods.rules._attributes import Kept, assignments, is_carried_along, own_attribute, targets
from devfix_codemods.rules._called import called_function, called_method
from devfix_codemods.rules._moving_helpers import MOVES
from devfix_codemods.rules._whereabouts import returned_by

_MAKERS = tables.FACTORIES | tables.HOST_FACTORIES | tables.LEGACY_CONSTRUCTORS
_SIZED = frozenset(f"torch.{name}" for name in ("zeros", "ones", "empty", "rand", "randn"))
_ROWS = frozenset({"torch.arange", "torch.linspace", "torch.logspace", "torch.range", "torch.randperm"})
_MIXED = (tables.ONE_PLACE | tables.SAME_PLACE) - {f"torch.{name}" for name in tables.REDUCTIONS}
_ELEMENTWISE = frozenset(
    {"abs", "neg", "exp", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "square", "reciprocal", "sigmoid"}
    | {"sin", "cos", "tan", "tanh", "sinh", "cosh", "clamp", "clip", "floor", "ceil", "round", "cumsum", "cumprod"}
    | {"add", "sub", "subtract", "mul", "multiply", "div", "divide", "pow", "flip", "clone", "contiguous", "detach"}
    | {"float", "double", "half", "long", "int"}
)
_DEEPEST = 5
"""Names, attributes and calls that are looked through, one behind the other."""


def meets_kept(program: Program, node: ast.expr, steps: int = 3) -> bool:
    """Whether an operation takes such a tensor, or what a statement above computes with one: that fails first."""
    return any(
        _is_kept(program, one) or (isinstance(one, ast.Name) and _is_computed_with_kept(program, one, steps))
        for one in _operands(program, node)
    )


def _operands(program: Program, node: ast.expr) -> Iterator[ast.expr]:
    """What an expression is computed of by arithmetic and by functions that keep dimensions."""
    match node:
        case ast.BinOp(left=first, right=second):
            parts = [first, second]
        case ast.Compare(left=first, comparators=others):
            parts = [first, *others]
        case ast.UnaryOp(operand=inner):
            parts = [inner]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            parts = elements
        case ast.Call() if tables.canonical(program.names.qualified(node.func) or "") in _MIXED:
            parts = scope.given_to(node)
        case _:
            yield node
            if isinstance(node, ast.Subscript) and _rank_left(node.slice) is not None and not _is_attribute(node):
                yield from _operands(program, node.value)
            return
    for one in parts:
        yield from _operands(program, one)


def _is_computed_with_kept(program: Program, node: ast.Name, steps: int) -> bool:
    function = scope.function_around(program, node)
    given = list(scope.stores(function, node.id)) if function is not None else []
    above = [program.names.statement(one) for one in given if one.lineno < node.lineno]
    last = max(above, key=lambda one: one.lineno, default=None)
    plain = isinstance(last, ast.Assign) and any(isinstance(one, ast.Name) for one in last.targets)
    return plain and isinstance(last, ast.Assign) and steps > 0 and meets_kept(program, last.value, steps - 1)


def _is_kept(program: Program, node: ast.expr) -> bool:
    """`self.table`, `self.table[j]`, made with dimensions on the host, and moved by nobody."""
    owner, name = scope.class_around(program, node), own_attribute(scope.indexed(node))
    if owner is None or name is None or program.classes.may_be_module(owner):
        return False
    return rank(program, node) > 0 and not is_carried_along(program, Kept(owner, name))


def rank(program: Program, node: ast.expr, depth: int = 0) -> int:
    """The dimensions that a tensor made on the host has at least; 0 where it may have none, or be elsewhere."""
    if depth > _DEEPEST:
        return 0
    match node:
        case ast.BinOp(left=first, right=second):
            return max(rank(program, one, depth) for one in (first, second))
        case ast.UnaryOp(operand=inner):
            return rank(program, inner, depth)
        case ast.Subscript(value=inner, slice=index):
            lost = _rank_left(index)
            return max(0, rank(program, inner, depth) - lost) if lost is not None else 0
        case ast.Name():
            return _rank_of_name(program, node, depth)
        case ast.Attribute():
            return _rank_of_attribute(program, node, depth)
        case ast.Call():
            return _rank_of_call(program, node, depth)
    return 0


def _rank_left(index: ast.expr) -> int | None:
    """How many dimensions an index takes away; None where it may be a tensor of many."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if any(not isinstance(one, (ast.Slice, ast.Constant, ast.Name, ast.UnaryOp)) for one in parts):
        return None
    taken = [one for one in parts if not isinstance(one, ast.Slice)]
    return sum(-1 if isinstance(one, ast.Constant) and one.value is None else 1 for one in taken)


def _rank_of_name(program: Program, node: ast.Name, depth: int) -> int:
    """Of a local name: what every statement that binds it gives."""
    function = scope.function_around(program, node)
    if function is None or node.id in scope.parameters(function):
        return 0
    given = [program.names.statement(one) for one in scope.stores(function, node.id)]
    values = [one.value if isinstance(one, ast.Assign) and _is_plain(one, node.id) else None for one in given]
    return min((rank(program, one, depth + 1) if one is not None else 0 for one in values), default=0)


def _is_plain(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in statement.targets)


def _rank_of_attribute(program: Program, node: ast.Attribute, depth: int) -> int:
    """Of `self.name`: what every statement that sets it gives."""
    owner, name = scope.class_around(program, node), own_attribute(node)
    if owner is None or name is None:
        return rank(program, node.value, depth) if node.attr == "T" else 0
    given = list(assignments(program, Kept(owner, name)))
    values = [one.value if isinstance(one, (ast.Assign, ast.AnnAssign)) else None for one in given]
    whole = all(any(own_attribute(each) == name for each in _whole_targets(one)) for one in given)
    if not whole:
        return 0
    return min((rank(program, one, depth + 1) if one is not None else 0 for one in values), default=0)


def _whole_targets(statement: ast.stmt) -> list[ast.expr]:
    """What gets the whole value of a statement, and no part of it."""
    return statement.targets if isinstance(statement, ast.Assign) else targets(statement)


def _rank_of_call(program: Program, node: ast.Call, depth: int) -> int:
    name = tables.canonical(program.names.qualified(node.func) or "")
    if name in _MAKERS:
        return _rank_made(node, name) if all(one.arg not in {"device", "out", None} for one in node.keywords) else 0
    last = name.removeprefix("torch.") if name.startswith("torch.") else None
    if last is not None:
        return max((rank(program, one, depth) for one in node.args), default=0) if last in _ELEMENTWISE else 0
    if isinstance(node.func, ast.Attribute) and node.func.attr in _ELEMENTWISE:
        return rank(program, node.func.value, depth)
    found = called_function(program, node) or called_method(program, node)
    if found is None:
        return 0
    there, function = found
    returned = returned_by(function)
    if any(isinstance(one, ast.Attribute) and one.attr in MOVES for one in ast.walk(function)):
        return 0
    return min((rank(there, one, depth + 1) for one in returned), default=0)


def _rank_made(call: ast.Call, name: str) -> int:
    """Of what a factory makes, by what it is given."""
    first = call.args[0] if call.args else None
    if name in _ROWS:
        return 1
    if name == "torch.eye":
        return 2
    if name in _SIZED:
        sizes = first.elts if isinstance(first, (ast.List, ast.Tuple)) else call.args
        return len(sizes) if not any(isinstance(one, ast.Starred) for one in sizes) else 0
    return _depth(first) if name in {"torch.tensor", "torch.Tensor", "torch.FloatTensor"} else 0


def _depth(node: ast.expr | None) -> int:
    """`[[1, 2], [3, 4]]` has two."""
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return 1 + _depth(node.elt)
    return 1 + _depth(node.elts[0] if node.elts else None) if isinstance(node, (ast.List, ast.Tuple)) else 0


def _is_attribute(node: ast.Subscript) -> bool:
    return own_attribute(scope.indexed(node)) is not None
