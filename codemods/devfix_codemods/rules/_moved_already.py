"""Uses of a value on the host that need no move of their own: an earlier one has taken it along."""

import ast
from dataclasses import replace

from devfix_codemods import scope
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.program import Program
from devfix_codemods.rules._following import root_name


def uses_to_move(program: Program, meetings: list[Meeting]) -> list[Meeting]:
    """The `meetings`, in the order of the source, without those of what is computed of a use that is moved before."""
    found: list[Meeting] = []
    for meeting in _before_their_index(meetings):
        moved = {one.misplaced.node for one in found}
        if not _comes_of(program, meeting.misplaced.node, moved, set()):
            found.append(meeting)
    return found


def _before_their_index(meetings: list[Meeting]) -> list[Meeting]:
    """`self.t[i] * x` as one use, of `self.t`, that meets `x`.

    Moved there, it takes an index from the host as well; moved to its index, it would miss `x` where the two differ.
    """
    indexed = {one.node: one.misplaced.node for one in meetings if one.operation == "indexing"}
    if not indexed:
        return meetings
    found, dropped = [], set()
    for one in meetings:
        inside = next((node for node in ast.walk(one.misplaced.node) if node in indexed), None)
        if inside is not None:
            dropped.add(inside)
            one = replace(one, misplaced=replace(one.misplaced, node=indexed[inside]))
        found.append(one)
    return [one for one in found if one.node not in dropped]


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
