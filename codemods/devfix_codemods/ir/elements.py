"""What a loop goes through: the elements of what iterators are made of."""

import ast
from collections.abc import Sequence

from devfix_codemods.ir.expressions import Expressions
from devfix_codemods.ir.keys import name
from devfix_codemods.ir.nodes import Node, Op
from devfix_codemods.ir.passing import PASSING, shows_progress

VALUE = "value"
"""What marks an element as a value of a mapping, as against a key."""


class Elements(Expressions):
    """Expressions, and the elements of iterables."""

    def element(self, iterable: Node, target: ast.AST | None) -> Node:
        """What a loop over `iterable` gives in a turn; of `enumerate`, `zip` and `items`, its parts."""
        if iterable in self.mappings:
            return self._of_mapping(*self.mappings[iterable], target)
        if iterable.op is Op.CALL:
            callee = iterable.args[0]
            made = self._of_iterator(name(callee), iterable, target)
            if made is not None:
                return made
            if callee.op is Op.ATTR and callee.extra == "items" and len(iterable.args) == 1:
                key = self.node(Op.UNKNOWN, None, (), "key")
                value = self.node(Op.ITER, _part(target, 1, 2), callee.args, VALUE)
                return self.node(Op.SEQUENCE, target, (key, value), "tuple")
            if callee.op is Op.ATTR and callee.extra == "values" and len(iterable.args) == 1:
                return self.node(Op.ITER, target, callee.args, VALUE)
        return self.node(Op.ITER, target, (iterable,))

    def mapped(self, call: ast.Call, function: Node, iterables: Sequence[Node]) -> Node:
        """`map(function, rows)` is `(function(row) for row in rows)`; of a display, a row of the calls for its parts.

        No expression of the program stands for these calls and what they get, so that these have no syntax.
        """
        first = iterables[0]
        if len(iterables) == 1 and first.op is Op.SEQUENCE and first.syntax in call.args:
            calls = [self.node(Op.CALL, None, (function, part), (None,)) for part in first.args]
            return self.node(Op.SEQUENCE, call, tuple(calls), "list")
        made = self.node(Op.COMPREHENSION, call, (self._of_mapping(function, iterables, None),), "generator")
        self.mappings[made] = function, iterables
        return made

    def _of_mapping(self, function: Node, iterables: Sequence[Node], target: ast.AST | None) -> Node:
        parts = tuple(self.element(one, target) for one in iterables)
        return self.node(Op.CALL, target, (function, *parts), (None,) * len(parts))

    def _of_iterator(self, called: str | None, iterable: Node, target: ast.AST | None) -> Node | None:
        """An element of what Python makes an iterator of; None where it is no such."""
        args = [one for one, word in zip(iterable.args[1:], iterable.extras) if word is None]
        if not args or "*" in iterable.extras:
            return None
        if called == "builtins.enumerate":
            number = self.node(Op.UNKNOWN, None, (), "number")
            return self.node(Op.SEQUENCE, target, (number, self.element(args[0], _part(target, 1, 2))), "tuple")
        if called in {"builtins.zip", "itertools.zip_longest"}:
            parts = (self.element(one, _part(target, at, len(args))) for at, one in enumerate(args))
            return self.node(Op.SEQUENCE, target, tuple(parts), "tuple")
        if called == "builtins.filter" and len(args) == 2:
            return self.element(args[1], target)
        return self.element(args[0], target) if called in PASSING or shows_progress(iterable) else None


def _part(target: ast.AST | None, at: int, count: int) -> ast.AST | None:
    """What a part of a row is bound to; None where the row is taken as a whole."""
    match target:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if len(parts) == count:
            return None if any(isinstance(one, ast.Starred) for one in parts) else parts[at]
    return None
