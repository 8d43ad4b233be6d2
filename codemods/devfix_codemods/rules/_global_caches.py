"""Tensors that a function keeps for all calls of the file: the device of the first call is not that of the next."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.program import Program


def is_kept_globally(program: Program, call: ast.Call) -> bool:
    """`global TABLE; TABLE = torch.arange(3)`, and `TABLES[n] = torch.arange(n)` of a table of the file."""
    statement, function = program.names.statement(call), scope.function_around(program, call)
    if function is None or not isinstance(statement, ast.Assign):
        return False
    shared = {name for one in ast.walk(function) if isinstance(one, ast.Global) for name in one.names}
    if not shared.isdisjoint(scope.stored(statement)):
        return True
    kept = {dotted(one.value) for one in statement.targets if isinstance(one, ast.Subscript)}
    bound = {*scope.parameters(function), *(name for one in function.body for name in scope.stored(one))}
    return any(one is not None and one.isidentifier() and one not in bound for one in kept)


def is_part_of_cache(program: Program, meeting: Meeting) -> bool:
    """Whether a value is kept for all calls beside others, which would have to be moved as well."""
    name = dotted(meeting.misplaced.node)
    kept = [one for one in meeting.misplaced.value.sources if is_kept_globally(program, one)]
    return any(name not in scope.stored(program.names.statement(one)) for one in kept)
