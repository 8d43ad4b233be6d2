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

    def element(self, iterable: Node, target: ast.AST) -> Node:
        """What a loop over `iterable` gives in a turn; of `enumerate`, `zip` and `items`, its parts."""
        if iterable.op is Op.CALL:
            callee = iterable.args[0]
            made = self._of_iterator(name(callee), iterable, target)
            if made is not None:
                return made
            if callee.op is Op.ATTR and callee.extra == "items" and len(iterable.args) == 1:
                key = self.node(Op.UNKNOWN, None, (), "key")
                return self.node(Op.SEQUENCE, target, (key, self.node(Op.ITER, target, callee.args, VALUE)), "tuple")
            if callee.op is Op.ATTR and callee.extra == "values" and len(iterable.args) == 1:
                return self.node(Op.ITER, target, callee.args, VALUE)
        return self.node(Op.ITER, target, (iterable,))

    def _of_iterator(self, called: str | None, iterable: Node, target: ast.AST) -> Node | None:
        """An element of what Python makes an iterator of; None where it is no such."""
        args = [one for one, word in zip(iterable.args[1:], iterable.extras) if word is None]
        if not args or "*" in iterable.extras:
            return None
        if called == "builtins.enumerate":
            number = self.node(Op.UNKNOWN, None, (), "number")
            return self.node(Op.SEQUENCE, target, (number, self.element(args[0], target)), "tuple")
        if called in {"builtins.zip", "itertools.zip_longest"}:
            return self.node(Op.SEQUENCE, target, self._each(args, target), "tuple")
        if called == "builtins.map" and len(args) > 1:
            return self.node(Op.CALL, target, (args[0], *self._each(args[1:], target)), (None,) * (len(args) - 1))
        if called == "builtins.filter" and len(args) == 2:
            return self.element(args[1], target)
        return self.element(args[0], target) if called in PASSING or shows_progress(iterable) else None

    def _each(self, iterables: Sequence[Node], target: ast.AST) -> tuple[Node, ...]:
        return tuple(self.element(one, target) for one in iterables)
