"""Places in the program: what is bound there, and under which condition they are reached."""

from dataclasses import dataclass

from devfix_codemods.ir import Guard, Node
from devfix_codemods.ir.nodes import Environment


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the program: what is bound there, and under which condition it is reached."""

    environment: Environment
    guard: Guard
    node: Node

    def binds(self, name: str) -> Node | None:
        """What a name means here, in the function or around it."""
        found = self.environment.get(name)
        function = self.node.function.parent
        while found is None and function is not None:
            found = function.finals.get(name)
            function = function.parent
        return found


def before(node: Node) -> Point | None:
    """The point before the statement that computes `node`."""
    return _at(node, after=False)


def after(node: Node) -> Point | None:
    """The point after that statement."""
    return _at(node, after=True)


def _at(node: Node, *, after: bool) -> Point | None:
    statement, function = node.statement, node.function
    if statement is None:
        return None
    environment = (function.after if after else function.before).get(statement)
    if environment is None:
        return None
    return Point(environment, function.guards.get(statement, node.guard), node)
