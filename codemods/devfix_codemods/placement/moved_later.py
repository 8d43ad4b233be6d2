"""Values that are moved after something was computed of them: `(torch.eye(n) - rows).to(device)`."""

from functools import cached_property
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import MOVES, Effect, canonical, effect, method_effect
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.arguments import calls_builtin
from devfix_codemods.placement.calls import parameters
from devfix_codemods.placement.joined import is_measure

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

MOST_STEPS = 60


class MovedLater:
    """What of one file goes to a device by what is computed of it, and by nothing else.

    All that it meets before is on the host as well, or the program fails whatever is done: so that it stands beside
    what is moved, or is as long as that, says nothing of it.
    """

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._users = births.module.users

    def moves(self, node: Node) -> set[Node]:
        """The moves of what is computed of a value; none where some of that is neither moved nor read on the host."""
        pending, moves = [node], set[Node]()
        entered = set[Function]()
        for one in pending:  # grows
            users = [each for each in self._users.get(one, ()) if each is not one and not is_measure(each)]
            returned = one in self._returned and one.function not in entered
            if returned:
                users += self._births.kinds.calls_of(one.function)
            unread = not users and one not in self._returned and one.op is not Op.PHI
            if unread or len(pending) > MOST_STEPS or one in self._stored:
                return set()
            if returned and not self._births.kinds.calls_of(one.function):
                return set()
            for user in users:
                if self._is_moved_by(user):
                    moves.add(user)
                elif not _is_read(one, user):
                    following = self._following(one, user, entered)
                    if following is None:
                        return set()
                    pending += (each for each in following if each not in pending)
        return moves

    def _is_moved_by(self, user: Node) -> bool:
        births = self._births
        if user.op is not Op.CALL or not births.is_elsewhere(user):
            return False
        placed = user in births.moves and effect(canonical(next(iter(names(user.args[0])), ""))) is Effect.CONVERSION
        return births.is_move(user) or user in self._opaque or placed

    def _following(self, node: Node, user: Node, entered: set[Function]) -> list[Node] | None:
        """What a use makes of a value; None where it may be left as it is."""
        if user.op in _JOINING:
            return [user]
        if user.op is Op.ATTR:
            known = user.extra in _METHODS or method_effect(str(user.extra)) in _COMPUTING | MOVES
            return [user] if known and not names(user) else None
        if user.op is not Op.CALL:
            return None
        if user.args[0] is node:
            return [user]
        called = self._births.calls.get(user)
        if called is not None:
            if node not in user.args:  # what that function returned
                return [user]
            entered.add(called)
            return [user, *parameters(node, user, called)]
        callee = user.args[0]
        found = [canonical(one) for one in names(callee)]
        computes = any(effect(one) in _COMPUTING for one in found)
        by_method = not found and callee.op is Op.ATTR and method_effect(str(callee.extra)) in _COMPUTING
        return [user] if computes or by_method else None

    @cached_property
    def _opaque(self) -> set[Node]:
        """Calls that are not read, and move what they get."""
        return {one for moves in self._births.movers.values() for one in moves}

    @cached_property
    def _stored(self) -> set[Node]:
        """What objects and containers keep, and no later statement of the function takes out of them."""
        module = self._births.module
        kept = {value for function in module.functions for value in function.finals.values()}
        return {one.value for one in module.stores if not one.is_attribute or one.value in kept}

    @cached_property
    def _returned(self) -> set[Node]:
        return self._births.module.returned


def _is_read(node: Node, user: Node) -> bool:
    """`x.item()`, `x.cpu()`, `print(x)`, and `y[x]`, where an index of the host picks from a device as well."""
    if user.op is Op.ITEM:
        return user.args[0] is not node
    if user.op is Op.ATTR:
        return method_effect(str(user.extra)) in _ON_HOST and not names(user)
    return user.op is Op.CALL and user.args[0] is not node and calls_builtin(user, *_PLAIN)


_JOINING = frozenset({Op.PHI, Op.AFTER, Op.SEQUENCE, Op.COMPREHENSION, Op.ITEM, Op.ITER, Op.OPERATION, Op.COMPARE})
_COMPUTING = frozenset(
    {Effect.SAME, Effect.LIKE, Effect.ARITHMETIC, Effect.MEET, Effect.SEQUENCE, Effect.PASS, Effect.FIRST, Effect.DRAW}
)
_ON_HOST = frozenset({Effect.SYNC, Effect.TO_HOST, Effect.NEEDS_HOST})
_METHODS = frozenset({"values", "indices", "T", "mT", "data", "real", "imag", "type", "sample", "rsample"})
"""Attributes and methods of tensors, and of what functions of torch give, that give others beside them."""
_PLAIN = ("float", "int", "bool", "len", "list", "range", "print")
