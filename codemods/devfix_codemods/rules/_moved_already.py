"""Uses of a value on the host that need no move of their own: an earlier one has taken it along."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.program import Program
from devfix_codemods.rules._following import root_name


def uses_to_move(program: Program, meetings: list[Meeting]) -> list[Meeting]:
    """The `meetings`, in the order of the source, without those of what is computed of a use that is moved before."""
    found: list[Meeting] = []
    for meeting in meetings:
        moved = {one.misplaced.node for one in found}
        if not _comes_of(program, meeting.misplaced.node, moved, set()):
            found.append(meeting)
    return found


def _comes_of(program: Program, node: ast.expr, moved: set[ast.expr], seen: set[str]) -> bool:
    """Whether every statement above that binds the name in `node` computes it of one of the `moved` expressions."""
    name, function = root_name(node), scope.function_around(program, node)
    if name is None or name in {"self", *seen} or function is None or name in scope.parameters(function):
        return False
    given = [program.names.statement(one) for one in scope.stores(function, name) if one.lineno < node.lineno]
    return bool(given) and all(_reads(program, one, moved, {*seen, name}) for one in given)


def _reads(program: Program, statement: ast.stmt, moved: set[ast.expr], seen: set[str]) -> bool:
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign) else None
    parts = [one for one in ast.walk(value) if isinstance(one, ast.expr)] if value is not None else []
    return any(one in moved or (isinstance(one, ast.Name) and _comes_of(program, one, moved, seen)) for one in parts)
