"""Tensors with dimensions that a class which is no module makes on the host and keeps: no `.to` takes them along."""

import ast
from collections.abc import Iterator, Set
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.program import Program
from devfix_codemods.rules._attributes import Kept, assignments, is_carried_along, own_attribute, targets
from devfix_codemods.rules._called import called_function, called_method
from devfix_codemods.rules._host_parameters import host_parameters, spells_host
from devfix_codemods.rules._moving_helpers import MOVES
from devfix_codemods.rules._taken_to_host import sets_dtype
from devfix_codemods.rules._tensor_words import HOST_MAKERS
from devfix_codemods.rules._whereabouts import returned_by

_SIZED = frozenset(f"torch.{name}" for name in tables.SIZED | {"full"})
_ROWS = frozenset({"torch.arange", "torch.linspace", "torch.logspace", "torch.range", "torch.randperm"})
_MIXED = (tables.ONE_PLACE | tables.SAME_PLACE) - {f"torch.{name}" for name in tables.REDUCTIONS}
_ELEMENTWISE = frozenset(
    {"abs", "neg", "exp", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "square", "reciprocal", "sigmoid"}
    | {"sin", "cos", "tan", "tanh", "sinh", "cosh", "clamp", "clip", "floor", "ceil", "round", "cumsum", "cumprod"}
    | {"add", "sub", "subtract", "mul", "multiply", "div", "divide", "pow", "flip", "clone", "contiguous", "detach"}
    | {"float", "double", "half", "long", "int", "bool", "triu", "tril", "unsqueeze", "masked_fill", "where"}
    | {"fill_", "masked_fill_", "mul_", "div_", "add_", "sub_", "expand", "repeat"}
)
DEEPEST = 7
"""Names, attributes and calls that are looked through, one behind the other."""


@dataclass(frozen=True, slots=True)
class Look:
    """How deep a reading is, the parameters around that are None or the host there, and the factories that will move.

    The parameters are those of the function in which the expression stands, by the call that led there.
    """

    depth: int = 0
    host: frozenset[str] = frozenset()
    moved: Set[ast.Call] = frozenset()

    def deeper(self, host: frozenset[str]) -> "Look":
        return Look(self.depth + 1, host, self.moved)


ANYHOW = Look()


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


def rank(program: Program, node: ast.expr, look: Look = ANYHOW) -> int:
    """The dimensions that a tensor made on the host has at least; 0 where it may have none, or be elsewhere."""
    if look.depth > DEEPEST:
        return 0
    match node:
        case ast.BinOp(left=first, right=second):
            return max(rank(program, one, look) for one in (first, second))
        case ast.UnaryOp(operand=inner):
            return rank(program, inner, look)
        case ast.Subscript(value=inner, slice=index):
            lost = _rank_left(index)
            return max(0, rank(program, inner, look) - lost) if lost is not None else 0
        case ast.Name():
            return _rank_of_name(program, node, look)
        case ast.Attribute():
            return _rank_of_attribute(program, node, look)
        case ast.Call():
            return _rank_of_call(program, node, look)
    return 0


def _rank_left(index: ast.expr) -> int | None:
    """How many dimensions an index takes away; None where it may be a tensor of many."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if any(not isinstance(one, (ast.Slice, ast.Constant, ast.Name, ast.UnaryOp)) for one in parts):
        return None
    taken = [one for one in parts if not isinstance(one, ast.Slice)]
    return sum(-1 if isinstance(one, ast.Constant) and one.value is None else 1 for one in taken)


def _rank_of_name(program: Program, node: ast.Name, look: Look) -> int:
    """Of a local name: what every statement above that binds it gives."""
    values = values_of(program, node)
    return min((rank(program, one, look.deeper(look.host)) if one is not None else 0 for one in values), default=0)


def values_of(program: Program, node: ast.Name) -> list[ast.expr | None]:
    """What the statements above give a local name, None for others than plain assignments; empty for a parameter."""
    function = scope.function_around(program, node)
    if function is None or node.id in scope.parameters(function):
        return []
    given = [program.names.statement(one) for one in scope.stores(function, node.id)]
    own = program.names.statement(node)
    before = [one for one in given if one is not own and (one.lineno < own.lineno or own not in given)]
    return [one.value if isinstance(one, ast.Assign) and _is_plain(one, node.id) else None for one in before]


def _is_plain(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in statement.targets)


def _rank_of_attribute(program: Program, node: ast.Attribute, look: Look) -> int:
    """Of `self.name`: what every statement that sets it gives."""
    owner, name = scope.class_around(program, node), own_attribute(node)
    if owner is None or name is None:
        return rank(program, node.value, look) if node.attr == "T" else 0
    given = list(assignments(program, Kept(owner, name)))
    values = [one.value if isinstance(one, (ast.Assign, ast.AnnAssign)) else None for one in given]
    whole = all(any(own_attribute(each) == name for each in _whole_targets(one)) for one in given)
    if not whole:
        return 0
    inner = look.deeper(frozenset())  # other methods have other parameters
    return min((rank(program, one, inner) if one is not None else 0 for one in values), default=0)


def _whole_targets(statement: ast.stmt) -> list[ast.expr]:
    """What gets the whole value of a statement, and no part of it."""
    return statement.targets if isinstance(statement, ast.Assign) else targets(statement)


def _rank_of_call(program: Program, node: ast.Call, look: Look) -> int:
    name = tables.canonical(program.names.qualified(node.func) or "")
    if name in HOST_MAKERS or name in tables.LIKE_FACTORIES:
        return _rank_made(program, node, name, look) if node not in look.moved and _has_no_place(node, look) else 0
    last = name.removeprefix("torch.") if name.startswith("torch.") else None
    if last is not None:
        return max((rank(program, one, look) for one in node.args), default=0) if last in _ELEMENTWISE else 0
    if isinstance(node.func, ast.Attribute) and (node.func.attr in _ELEMENTWISE or stays_there(node, look.host)):
        return rank(program, node.func.value, look)
    found = called(program, node, look)
    if found is None:
        return 0
    there, returned, inner = found
    return min((rank(there, one, inner) for one in returned), default=0)


def _has_no_place(call: ast.Call, look: Look) -> bool:
    """Whether a factory is told no device, or none but the host."""
    told = [one for one in call.keywords if one.arg in {"device", "out", None}]
    return all(one.arg == "device" and spells_host(one.value, look.host) for one in told)


def called(program: Program, call: ast.Call, look: Look) -> tuple[Program, list[ast.expr], Look] | None:
    """What a function or method of the project returns, that moves nothing, and how to look at that."""
    found = called_function(program, call) or called_method(program, call)
    if found is None or look.depth > DEEPEST:
        return None
    there, function = found
    host = host_parameters(function, call, look.host)
    moves = (one for one in ast.walk(function) if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute))
    if any(
        one.func.attr in MOVES and not stays_there(one, host) for one in moves if isinstance(one.func, ast.Attribute)
    ):
        return None
    return there, returned_by(function), look.deeper(host)


def stays_there(move: ast.Call, host: frozenset[str]) -> bool:
    """`x.to(dtype)`, and `x.to(device)` where that is None or the host."""
    if not isinstance(move.func, ast.Attribute) or move.func.attr != "to":
        return False
    told = [one.value for one in move.keywords if one.arg == "device"] or scope.given_to(move)[:1]
    return bool(told) and (spells_host(told[0], host) or (sets_dtype(move) and len(scope.given_to(move)) == 1))


def _rank_made(program: Program, call: ast.Call, name: str, look: Look) -> int:
    """Of what a factory makes, by what it is given."""
    first = call.args[0] if call.args else None
    if name in tables.LIKE_FACTORIES:
        return rank(program, first, look) if first is not None else 0
    if name in _ROWS:
        return 1
    if name == "torch.eye":
        return 2
    if name in _SIZED:
        sizes = first.elts if isinstance(first, (ast.List, ast.Tuple)) else call.args
        sizes = sizes[:1] if name == "torch.full" and not isinstance(first, (ast.List, ast.Tuple)) else sizes
        return len(sizes) if not any(isinstance(one, ast.Starred) for one in sizes) else 0
    return _depth(first) if name in {"torch.tensor", "torch.Tensor", "torch.FloatTensor"} else 0


def _depth(node: ast.expr | None) -> int:
    """`[[1, 2], [3, 4]]` has two."""
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return 1 + _depth(node.elt)
    return 1 + _depth(node.elts[0] if node.elts else None) if isinstance(node, (ast.List, ast.Tuple)) else 0


def _is_attribute(node: ast.Subscript) -> bool:
    return own_attribute(scope.indexed(node)) is not None
