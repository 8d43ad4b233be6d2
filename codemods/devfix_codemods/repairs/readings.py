"""Where a part that is read several times, `batch["y"]`, is read for the operation that it is misplaced in."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.nodes import walk
from devfix_codemods.placement.search import Step
from devfix_codemods.repairs.points import Point, before


@dataclass(frozen=True, slots=True)
class Reading:
    """An expression that reads the value, and the point before its statement."""

    syntax: ast.expr
    statement: ast.stmt | None
    point: Point

    @property
    def behind(self) -> Point:
        """The point behind its statement."""
        function = self.point.node.function
        after = function.after.get(self.statement) if self.statement is not None else None
        return replace(self.point, environment=after) if after is not None else self.point


def reading(node: Node, path: Sequence[Step]) -> Reading | None:
    """The reading of a value that a path goes on from; the only one, where there is one. None where that is not known.

    It stands in the first thing that is computed on the path, or where what is computed with has its name from.
    """
    again = node.function.readings.get(node, ())
    if not again:
        point = before(node)
        return Reading(node.syntax, node.statement, point) if point and isinstance(node.syntax, ast.expr) else None
    found = [one for one in (_read(node, *each) for each in ((node.syntax, node.statement), *again)) if one is not None]
    told = (_inside(found, user) or _bound(found, user) for user in _users(node, path))
    return next((one for one in told if one is not None), None)


def _read(node: Node, syntax: ast.AST | None, statement: ast.stmt | None) -> Reading | None:
    environment = node.function.before.get(statement) if statement is not None else None
    if not isinstance(syntax, ast.expr) or environment is None or statement is None:
        return None
    guard = node.function.guards.get(statement, node.guard)
    return Reading(syntax, statement, Point(environment, guard, node, statement))


def _users(node: Node, path: Sequence[Step]) -> Iterator[Node]:
    """What gets the value on the path: what is computed of it, or the method of what it is put into."""
    for step in path:
        if step.node.function is not node.function:
            return
        yield step.node
        calls = (one for one in node.function.nodes if one.op is Op.CALL and node in one.args[1:])
        yield from (one for one in calls if step.node in one.args[0].args)


def _inside(found: list[Reading], user: Node) -> Reading | None:
    """The reading that a user is written with."""
    if not isinstance(user.syntax, ast.expr | ast.AugAssign):
        return None
    parts = set(walk(user.syntax))
    return next((one for one in found if one.syntax in parts), None)


def _bound(found: list[Reading], user: Node) -> Reading | None:
    """`y = batch["y"]`, the last one above a user that is written with `y`."""
    if not isinstance(user.syntax, ast.expr | ast.AugAssign):
        return None
    names = {one.id for one in walk(user.syntax) if isinstance(one, ast.Name)}
    for one in reversed(found):
        match one.statement:
            case ast.Assign([ast.Name(id=name)], value) if value is one.syntax and name in names:
                return one
    return None


def is_read_by(syntax: ast.expr, node: Node) -> bool:
    """Whether an expression is that of a value, or reads it once more."""
    return syntax is node.syntax or any(one is syntax for one, _ in node.function.readings.get(node, ()))
