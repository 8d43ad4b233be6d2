"""Tensors made for rows of what a part of the module gives, `rows[i] = x[i][index]`: they belong where that is."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.places import Symbol
from devfix_codemods.program import Program


def source_of_rows(program: Program, meeting: Meeting, call: ast.Call) -> str | None:
    """`x`, given by a part of the module, of which alone rows are picked for the tensor that `call` makes.

    Where `meeting` takes that to another part of the module.
    """
    place, function = meeting.anchor.place, scope.function_around(program, call)
    statement = program.names.statement(call)
    if not isinstance(place, Symbol) or not place.token.startswith("self:") or function is None:
        return None
    if not isinstance(statement, ast.Assign) or statement.value is not call or len(statement.targets) != 1:
        return None
    name = dotted(statement.targets[0])
    sources = {_picked(one) for one in ast.walk(function) if isinstance(one, ast.Assign) and _writes(one, name)}
    source = sources.pop() if len(sources) == 1 else None
    return source if source is not None and _is_given_by_part(program, function, source, call) else None


def _writes(statement: ast.Assign, name: str | None) -> bool:
    """`rows[i] = …`"""
    return any(isinstance(one, ast.Subscript) and dotted(one.value) == name for one in statement.targets)


def _picked(statement: ast.Assign) -> str | None:
    """`x` of `rows[i] = x[i][index]`."""
    value = scope.indexed(statement.value)
    return value.id if isinstance(value, ast.Name) and isinstance(statement.value, ast.Subscript) else None


def _is_given_by_part(program: Program, function: scope.Function, name: str, call: ast.Call) -> bool:
    """Whether what `name` holds at `call`, and ever after, is what a part of `self` gives, and has a shape."""
    if name not in scope.bound_at(program, program.names.statement(call)):
        return False
    stores = sorted(scope.changes(function, name), key=lambda one: one.lineno)
    if not stores or stores[-1].lineno >= call.lineno:
        return False
    last, evidence = program.names.statement(stores[-1]), program.facts.evidence[function]
    around = scope.class_around(program, call)
    given = last.value if isinstance(last, ast.Assign) and last.targets == [stores[-1]] else None
    part = (dotted(given.func) or "").split(".") if isinstance(given, ast.Call) else []
    if around is None or len(part) != 2 or part[0] != "self" or part[1] in program.unit.classes.methods(around):
        return False
    return last in function.body and name in evidence.shaped - evidence.numpy
