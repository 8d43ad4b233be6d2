"""What a tensor that a class keeps goes with at its uses, where that is on the host: moved, it would part from it."""

import ast
from operator import attrgetter

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting, Operand
from devfix_codemods.flow.places import HOST
from devfix_codemods.flow.tree import walk
from devfix_codemods.flow.values import Kind
from devfix_codemods.program import Program
from devfix_codemods.rules._attributes import Kept, assignments, is_carried_along, lineage, own_attribute, targets
from devfix_codemods.rules._called import called_function, called_method
from devfix_codemods.rules._moving_helpers import MOVES
from devfix_codemods.rules._taken_to_host import moves_to_host
from devfix_codemods.rules._tensor_words import PLACES

_TENSORS = frozenset({Kind.TENSOR, Kind.UNKNOWN})


def fails_anyhow(program: Program, kept: Kept, meeting: Meeting) -> bool:
    """Whether an operation gets something else that stays on the host: it fails before and after a repair."""
    return any(_is_left(meeting, one) or _is_left_module(program, kept, one) for one in meeting.operands)


def _is_left(meeting: Meeting, operand: Operand) -> bool:
    """A tensor that the program itself has taken there, and no rule takes back."""
    value = operand.value
    if operand is meeting.misplaced or operand.place != HOST or value.kind not in _TENSORS:
        return False
    return not (value.sources or value.scalar or value.batch is not None) and not _is_in(meeting, operand)


def _is_in(meeting: Meeting, operand: Operand) -> bool:
    """Whether an operand is the misplaced one, or a part of it."""
    return any(one is operand.node for one in ast.walk(meeting.misplaced.node))


def _is_left_module(program: Program, kept: Kept, operand: Operand) -> bool:
    """`self.net`, built by a class that is no module, which moves it nowhere and gives it to nobody who could."""
    name = own_attribute(operand.node)
    if operand.role != "module" or name is None or program.classes.may_be_module(kept.owner):
        return False
    net = Kept(kept.owner, name)
    values = [one.value if isinstance(one, (ast.Assign, ast.AnnAssign)) else None for one in assignments(program, net)]
    if not values or not all(one is not None and _is_built(program, one) for one in values):
        return False
    return not is_carried_along(program, net) and not any(
        own_attribute(one) == name and _may_move(program, one)
        for owner in (*lineage(program, kept.owner), *program.classes.ancestors(kept.owner))
        for one in ast.walk(owner)
    )


def _is_built(program: Program, value: ast.expr) -> bool:
    """A call that names no place, of nothing in the project that moves."""
    if not isinstance(value, ast.Call) or PLACES.search(ast.unparse(value)):
        return False
    found = called_function(program, value) or called_method(program, value)
    inside = ast.walk(found[1]) if found is not None else ()
    return not any(isinstance(one, ast.Attribute) and one.attr in MOVES for one in inside)


def _may_move(program: Program, node: ast.AST) -> bool:
    """Whether `self.net` is more there than set, called, or asked for something: `to_device(self.net)`."""
    if not isinstance(getattr(node, "ctx", None), ast.Load):
        return False
    outer = program.names.parent(node) if program.unit.holds(node) else None
    if isinstance(outer, ast.Attribute):
        return outer.attr in MOVES
    return not (isinstance(outer, ast.Call) and outer.func is node)


def picks_of_given(program: Program, kept: Kept) -> bool:
    """Whether what is computed of it picks from another attribute, which the class was given: where that is, who knows.

    An index on the host suits each, one on a device only what is there.
    """
    return any(
        _picks_of_given(program, kept, method)
        for owner in lineage(program, kept.owner)
        for method in owner.body
        if isinstance(method, scope.Function)
    )


def _picks_of_given(program: Program, kept: Kept, method: scope.Function) -> bool:
    made = _computed_of(method, kept.name)
    tables = (one for one in walk(method) if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Load))
    return any(
        (name := own_attribute(one.value)) not in {None, kept.name}
        and not made.isdisjoint(scope.reads(one.slice))
        and _is_given(program, Kept(kept.owner, name or ""))
        for one in tables
    )


def _computed_of(method: scope.Function, attribute: str) -> set[str]:
    """The local names that get what is computed of an attribute of `self`."""
    assigned = [one for one in walk(method) if isinstance(one, ast.Assign)]
    first = {name for one in assigned if _reads(one, attribute) for name in scope.stored(one)}
    return scope.computed_of(assigned, first)


def _reads(statement: ast.Assign, attribute: str) -> bool:
    return any(own_attribute(one) == attribute for one in walk(statement.value) if isinstance(one, ast.Attribute))


def _is_given(program: Program, kept: Kept) -> bool:
    """Whether the constructor keeps a parameter as it is."""
    constructor = scope.constructor(kept.owner)
    if constructor is None:
        return False
    values = [one.value for one in program.bindings.of(constructor, f"self.{kept.name}")]
    return bool(values) and all(isinstance(one, ast.Name) and one.id in scope.parameters(constructor) for one in values)


def meets_host(program: Program, kept: Kept) -> bool:
    """Whether a use goes with what the function around has just taken to the host: there, all are together today."""
    return any(
        own_attribute(one) == kept.name and _has_host_beside(program, one)
        for owner in lineage(program, kept.owner)
        for one in ast.walk(owner)
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)
    )


def _has_host_beside(program: Program, node: ast.Attribute) -> bool:
    """Whether the innermost operation around a use takes what was taken to the host: `x = x.cpu(); x * self.t`."""
    function = scope.function_around(program, node)
    outer = next(
        (one for one in program.names.ancestors(node) if isinstance(one, (ast.BinOp, ast.Call, ast.stmt))), None
    )
    if function is None or outer is None:
        return False
    others = {dotted(one) for one in ast.walk(outer) if isinstance(one, (ast.Name, ast.Attribute))}
    return any(_is_taken_to_host(function, one, node) for one in others if one is not None)


def _is_taken_to_host(function: scope.Function, name: str, node: ast.expr) -> bool:
    """Whether the last statement above that sets a name takes it to the host: `x = x.cpu()`."""
    given = [
        one
        for one in walk(function)
        if isinstance(one, ast.Assign)
        and one.lineno < node.lineno
        and any(dotted(each) == name for each in targets(one))
    ]
    last = max(given, key=attrgetter("lineno"), default=None)
    return last is not None and moves_to_host(last.value)
