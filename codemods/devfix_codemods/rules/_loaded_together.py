"""Loads whose tensors meet: `merge([first, second])`. One place for both, or none."""

import ast
from collections.abc import Iterable

from devfix_codemods import scope
from devfix_codemods.program import Program

_JOINS = (ast.Call, ast.List, ast.Tuple, ast.BinOp)


def meets(program: Program, call: ast.Call, others: Iterable[ast.Call]) -> bool:
    """Whether one expression around reads what `call` loads, by its name, and what one of `others` loads."""
    around = scope.function_around(program, call)
    beside = [one for one in others if scope.function_around(program, one) is around]
    own, theirs = _names(program, call), {name for one in beside for name in _names(program, one)}
    if not own or not theirs - own:
        return False
    joins = (set(scope.reads(one)) for one in ast.walk(around or program.tree) if isinstance(one, _JOINS))
    return any(read & own and read & (theirs - own) for read in joins)


def _names(program: Program, call: ast.Call) -> set[str]:
    """The names that get the value of a load itself."""
    statement = program.names.statement(call)
    return set(scope.stored(statement)) if isinstance(statement, ast.Assign) and statement.value is call else set()
