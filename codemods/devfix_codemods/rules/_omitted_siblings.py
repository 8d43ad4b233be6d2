"""Calls of a file's own classes that leave out `device`, where the calls around them pass it on."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tree import statements
from devfix_codemods.program import Program

_PASSED_ON = 2
"""How many calls of a function must be given its `device`, for one that is not to be an oversight."""


def left_out(program: Program) -> Iterator[ast.Call]:
    """Calls, in functions with a parameter `device`, of classes that take it but are not given it."""
    takers = _takers(program)
    if not takers:
        return
    for function in statements(program.tree):
        if isinstance(function, scope.Function) and "device" in scope.parameters(function):
            calls = [one for one in ast.walk(function) if isinstance(one, ast.Call)]
            if sum(map(_passes_on, calls)) >= _PASSED_ON:
                yield from (one for one in calls if _leaves_out(one, takers) and not _is_moved(program, function, one))


def _takers(program: Program) -> dict[str, int]:
    """Classes whose constructor takes a `device` that is None by default: with the index of the parameter."""
    found: dict[str, int] = {}
    names = [one.name for one in program.names.classes]
    for owner in program.names.classes:
        constructor = scope.constructor(owner)
        if constructor is None or names.count(owner.name) > 1 or owner not in program.tree.body:
            continue
        index = _index(constructor.args)
        if index is not None:
            found[owner.name] = index
    return found


def _index(arguments: ast.arguments) -> int | None:
    """The position of `device`, past the end where it goes by keyword only; None where it has no default of None."""
    plain = [*arguments.posonlyargs, *arguments.args]
    first = len(plain) - len(arguments.defaults)
    pairs = [
        (one.arg, index - 1, arguments.defaults[index - first]) for index, one in enumerate(plain) if index >= first
    ]
    pairs += [
        (one.arg, len(plain), value)
        for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults)
        if value is not None
    ]
    for name, index, value in pairs:
        if name == "device" and isinstance(value, ast.Constant) and value.value is None:
            return index
    return None


def _passes_on(call: ast.Call) -> bool:
    return any(
        one.arg == "device" and isinstance(one.value, ast.Name) and one.value.id == "device" for one in call.keywords
    )


def _is_moved(program: Program, function: scope.Function, call: ast.Call) -> bool:
    """Whether something moves what is built, or all that the function builds."""
    statement = program.names.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {"self", *(name for one in targets if (name := dotted(one)) is not None)}
    moves = [one for one in ast.walk(function) if isinstance(one, ast.Attribute) and one.attr in {"to", "cuda"}]
    return any(dotted(one.value) in names or program.names.statement(one) is statement for one in moves)


def _leaves_out(call: ast.Call, takers: dict[str, int]) -> bool:
    if not isinstance(call.func, ast.Name) or call.func.id not in takers:
        return False
    if any(isinstance(one, ast.Starred) for one in call.args) or len(call.args) > takers[call.func.id]:
        return False
    return all(one.arg not in {"device", None} for one in call.keywords)
