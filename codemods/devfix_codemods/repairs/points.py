"""Places in the program: what is bound there, and under which condition they are reached."""

import ast
from dataclasses import dataclass

from devfix_codemods.ir import Function, Guard, Node, Op
from devfix_codemods.ir.keys import key
from devfix_codemods.ir.nodes import Environment, walk
from devfix_codemods.placement.analysis import Analysis


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the program: what is bound there, and under which condition it is reached."""

    environment: Environment
    guard: Guard
    node: Node
    read: ast.stmt | None = None
    """The statement, where it is another one than computes the node: it reads that once more."""

    @property
    def statement(self) -> ast.stmt | None:
        return self.read or self.node.statement

    @property
    def names(self) -> dict[Node, str]:
        """What values are called here."""
        return {node: one for one, node in self.environment.items() if isinstance(one, str) and one.isidentifier()}

    @property
    def visible(self) -> dict[str, Node]:
        """What all names mean here, in the function or around it."""
        names: dict[str, Node] = {}
        function = self.node.function.parent
        bound = [self.environment]
        while function is not None:
            bound.append(function.finals)
            function = function.parent
        for environment in bound:
            for one, node in environment.items():
                if isinstance(one, str):
                    names.setdefault(one, node)
        return names

    def binds(self, name: str) -> Node | None:
        """What a name means here, in the function or around it."""
        return bound(self.environment, self.node.function, name)

    def is_none(self, value: Node) -> bool:
        """Whether a value is None wherever this is reached, as a test around it says."""
        return (("none", key(value)), True) in self.guard | self.node.guard

    def binds_surely(self, name: str) -> bool:
        """Whether a name that the function binds has a value on every path to here.

        `if restore: device = pick()` gives it none otherwise, nor does a loop behind which this is: it may not run.
        """
        value = self.environment.get(name)
        return value is None or (
            value.guard <= self.guard
            and not self._is_bound_in_ended_loop(name)
            and not self._is_bound_in_broken_try(name)
        )

    def _is_bound_in_broken_try(self, name: str) -> bool:
        """Whether this is a handler of what was raised while the name was bound, or before that."""
        here = self.statement
        tries = [one for one in self.node.function.guards if isinstance(one, ast.Try | ast.TryStar)]
        broken = [one for one in tries if any(here in set(walk(each)) for each in (*one.handlers, *one.finalbody))]
        inside = {part for one in broken for each in one.body for part in walk(each)}
        return self._is_stored_in(inside, name)

    def _is_bound_in_ended_loop(self, name: str) -> bool:
        here = self.statement
        if here is None:
            return False
        loops = [one for one in self.node.function.guards if isinstance(one, ast.For | ast.AsyncFor | ast.While)]
        inside: set[ast.AST] = set()
        for loop in loops:
            parts = set(walk(loop))
            if here not in parts and not (isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant)):
                inside |= parts
        return self._is_stored_in(inside, name)

    def _is_stored_in(self, inside: set[ast.AST], name: str) -> bool:
        """Whether all that may have given a name its value by now is among some nodes of the syntax: what stands
        below does so in later turns of a loop alone."""
        if not inside or name in self.node.function.parameters:
            return False
        own = set(walk(self.statement)) if self.statement is not None else set[ast.AST]()
        parts = (one for one in walk(self.node.function.syntax) if one not in own)
        stores = [one for one in parts if isinstance(one, ast.Name) and one.id == name and _is_stored(one)]
        line = self.read.lineno if self.read is not None else self.node.line
        earlier = [one for one in stores if one in inside or one.lineno < line]
        return bool(earlier) and inside.issuperset(earlier)


def bound(environment: Environment, function: Function, name: str) -> Node | None:
    """What a name means in a function where the environment is this, or around it."""
    found, outer = environment.get(name), function.parent
    while found is None and outer is not None:
        found, outer = outer.finals.get(name), outer.parent
    return found


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def before(node: Node) -> Point | None:
    """The point before the statement that computes `node`; in a lambda, which has no statements, its beginning."""
    if isinstance(node.function.syntax, ast.Lambda):
        environment: Environment = {}
        environment.update(node.function.parameters)
        return Point(environment, node.guard, node)
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


def rest_of_block(function: Function, first: ast.stmt | None) -> list[ast.stmt]:
    """A statement, and those behind it in its block."""
    blocks = (block_in(around, first) for around in ast.walk(function.syntax))
    return next((block[block.index(first) :] for block in blocks if first is not None and block), [])


def block_in(around: ast.AST | None, statement: ast.stmt | None) -> list[ast.stmt]:
    """The statements of a part of a statement around of which one is `statement`; none where there is no such part."""
    parts = (getattr(around, part, None) for part in ("body", "orelse", "finalbody"))
    return next((one for one in parts if isinstance(one, list) and statement in one), [])


def means_same(analysis: Analysis, expression: ast.expr, there: Node, point: Point) -> bool:
    """Whether all names of an expression are bound here, to what they mean there."""
    home = before(there)
    for one in ast.walk(expression):
        if isinstance(one, ast.Attribute) and _is_set_later(one, point):
            return False
        if not isinstance(one, ast.Name):
            continue
        here = point.binds(one.id)
        if here is None:
            return False
        if home is None:
            continue
        elsewhere = home.binds(one.id)
        if elsewhere is not here and not _are_one(analysis, here, elsewhere):
            return False
    return True


def _is_set_later(attribute: ast.Attribute, point: Point) -> bool:
    """Whether a constructor has not set an attribute of its object yet."""
    function = point.node.function
    itself, owner = function.self_node, function.owner
    if function.name != "__init__" or itself is None or owner is None or not owner.sets(attribute.attr):
        return False
    own = isinstance(attribute.value, ast.Name) and point.binds(attribute.value.id) is itself
    return own and (itself, attribute.attr) not in point.environment


def _are_one(analysis: Analysis, here: Node, there: Node | None) -> bool:
    """Whether a name means the same in two functions: the object of both, a parameter for the device, or one that is
    given what has the name there."""
    if there is None:
        return False
    if _is_given(analysis, here, there) or _is_given(analysis, there, here):
        return True
    if _is_self(here) and _is_self(there):
        return here.function.owner is there.function.owner
    return here.op is there.op is Op.PARAM and here.extra == there.extra and "device" in str(here.extra)


def _is_given(analysis: Analysis, here: Node, there: Node) -> bool:
    """Whether all callers hand a parameter on from there."""
    for _ in range(_DEEPEST):
        given = set(analysis.kinds.given.get(here, ()))
        if given == {there}:
            return True
        if len(given) != 1:
            return False
        here = given.pop()
    return False


def _is_self(node: Node) -> bool:
    return node.function.object_node is node


_DEEPEST = 4
"""Through how many calls a parameter is followed."""


def names_in(expression: str) -> set[str]:
    """The names that an expression reads."""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError:
        return set()
    return {one.id for one in walk(tree) if isinstance(one, ast.Name)}
