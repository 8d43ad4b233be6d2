"""Tensors that the code moves by a flag of its own, wherever that comes from: `if use_gpu: x = x.cuda()`."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program
from devfix_codemods.rules._following import root_name
from devfix_codemods.rules._moving_helpers import MOVES
from devfix_codemods.rules._taken_to_host import moves_to_host, sets_dtype


def is_moved_by_flag(program: Program, meeting: Meeting) -> bool:
    """Whether one branch above a meeting moves the tensor, or what it was computed of, and the other leaves it."""
    function, name = scope.function_around(program, meeting.node), root_name(meeting.misplaced.node)
    if function is None or name is None:
        return False
    assigned = [one for one in walk(function) if isinstance(one, ast.Assign) and one.lineno < meeting.node.lineno]
    made = {
        each
        for one in meeting.misplaced.value.sources
        if scope.function_around(program, one) is function
        for each in scope.stored(program.names.statement(one))
    }
    names = _before(assigned, {name}) & scope.computed_of(assigned, made)
    return any(not names.isdisjoint(scope.stored(one)) and _is_by_flag(program, one) for one in assigned)


def _before(assigned: list[ast.Assign], names: set[str]) -> set[str]:
    """`names`, and those from which they were computed."""
    while more := {each for one in assigned if scope.stored(one) & names for each in scope.reads(one.value)} - names:
        names = names | more
    return names


def _is_by_flag(program: Program, statement: ast.Assign) -> bool:
    """`x = x.cuda()` alone under an `if`, or `x = x.cuda() if flag else x`."""
    if isinstance(statement.value, ast.IfExp):
        return _moves(statement.value.body) is not _moves(statement.value.orelse)
    branch = program.names.parent(statement)
    if not isinstance(branch, ast.If) or not _moves(statement.value):
        return False
    names = scope.stored(statement)
    other = branch.orelse if statement in branch.body else branch.body
    itself = not names.isdisjoint(scope.reads(statement.value))
    return itself and not any(names & scope.stored(one) for one in other)


def _moves(value: ast.expr) -> bool:
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr in MOVES
        and not moves_to_host(one)
        and not sets_dtype(one)
        for one in ast.walk(value)
    )
