"""Loaders over tensors that were moved before: what they yield is on the device already."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tables import LOADERS
from devfix_codemods.flow.tree import walk
from devfix_codemods.flow.units import Unit
from devfix_codemods.program import Program
from devfix_codemods.rules._called import function_of
from devfix_codemods.rules._moving_helpers import HELPER, MOVES
from devfix_codemods.rules._taken_to_host import moves_to_host, sets_dtype


def is_from_placed_loader(program: Program, birth: ast.AST) -> bool:
    """Whether an element comes from a loader that some function builds over what it has moved itself."""
    iterated = _iterated(program, birth)
    return iterated is not None and any(
        _builds_over_placed(unit, function)
        for name in set(_read(iterated))
        for where, value in _values(program, name, iterated)
        for unit, function in _makers(program, where, value)
    )


def _iterated(program: Program, birth: ast.AST) -> ast.expr | None:
    """What the loop, or the `next(iter(…))`, around the birth of an element goes over."""
    for one in (birth, *program.names.ancestors(birth)):
        if isinstance(one, ast.For | ast.AsyncFor | ast.comprehension):
            return one.iter
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and dotted(one.value.func) == "next":
            return one.value
        if isinstance(one, scope.Function):
            return None
    return None


def _values(program: Program, name: str, at: ast.expr) -> Iterator[tuple[Unit, ast.expr]]:
    """What a name, or an attribute in the class around and those it derives from, is bound to; each with its file."""
    owner = scope.class_around(program, at)
    if not name.startswith("self."):
        found = program.bindings.seen(name, at)
        yield from ((program.unit, one.node.value) for one in found if isinstance(one.node, ast.Assign))
    elif owner is not None:
        for each in (owner, *program.classes.ancestors(owner)):
            unit = _home(program, each)
            found = unit.bindings.of_class(each, name) if unit is not None else []
            yield from ((unit, one.node.value) for one in found if unit and isinstance(one.node, ast.Assign))


def _home(program: Program, node: ast.AST) -> Unit | None:
    if program.unit.holds(node):
        return program.unit
    return program.project.home_of(node) if program.project is not None else None


def _makers(program: Program, unit: Unit, value: ast.expr) -> Iterator[tuple[Unit, scope.Function]]:
    """The functions of the project that a value is made by: those that it calls, and the one that it stands in."""
    around = next((one for one in unit.names.ancestors(value) if isinstance(one, scope.Function)), None)
    if around is not None:
        yield unit, around
    for call in (one for one in ast.walk(value) if isinstance(one, ast.Call)):
        found = function_of(unit, program.project, call.func)
        if found is not None:
            yield found.unit, found.definition
        method = _own_method(program, unit, call)
        if method is not None and (home := _home(program, method)) is not None:
            yield home, method


def _own_method(program: Program, unit: Unit, call: ast.Call) -> scope.Function | None:
    text = dotted(call.func) or ""
    owner = next((one for one in unit.names.ancestors(call) if isinstance(one, ast.ClassDef)), None)
    return program.classes.methods(owner).get(text[5:]) if owner is not None and text.startswith("self.") else None


def _builds_over_placed(unit: Unit, function: scope.Function) -> bool:
    placed = set(_placed(unit, function))
    return any(
        not placed.isdisjoint(_read(one)) or _places(unit, one)
        for call in walk(function)
        if isinstance(call, ast.Call) and unit.names.qualified(call.func) in LOADERS
        for one in (*call.args[:1], *(key.value for key in call.keywords if key.arg == "dataset"))
    )


def _placed(unit: Unit, function: scope.Function) -> set[str]:
    """The names that get what is moved in the function, and what is made of that."""
    found: set[str] = set()
    assigned = [one for one in walk(function) if isinstance(one, ast.Assign)]
    while True:
        more = {
            name
            for one in assigned
            if _places(unit, one.value) or not found.isdisjoint(_read(one.value))
            for target in one.targets
            for name in _read(target)
        } - found
        if not more:
            return found
        found |= more


def _read(node: ast.AST) -> Iterator[str]:
    """The names and attributes of `self` in an expression."""
    for one in ast.walk(node):
        text = dotted(one) if isinstance(one, ast.Name | ast.Attribute) else None
        if text is not None and (isinstance(one, ast.Name) or text.startswith("self.")) and text != "self":
            yield text


def _places(unit: Unit, value: ast.expr) -> bool:
    """Whether a tensor is moved to a device, or made on one, anywhere in an expression."""
    return any(_is_placing(unit, one) for one in ast.walk(value) if isinstance(one, ast.Call))


def _is_placing(unit: Unit, call: ast.Call) -> bool:
    if moves_to_host(call):
        return False
    if isinstance(call.func, ast.Attribute) and call.func.attr in MOVES:
        return not sets_dtype(call)
    if HELPER.search((dotted(call.func) or "").rpartition(".")[2]) is not None and call.args:
        return True
    made = (unit.names.qualified(call.func) or "").startswith("torch.") and unit.names.qualified(
        call.func
    ) not in LOADERS
    given = [one.value for one in call.keywords if one.arg == "device"]
    return made and any("cpu" not in ast.unparse(one) for one in given)
