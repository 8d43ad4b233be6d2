"""What is left where it is, as all that is done with it is to join it with others to what is moved as a whole."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import is_slice
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.arguments import calls_builtin
from devfix_codemods.placement.calls import parameters
from devfix_codemods.placement.indices import indices
from devfix_codemods.placement.slice_bounds import is_bound

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

MOST_JOINED = 8
"""How often what is joined may be joined again before it is moved."""


class Joined:
    """What of one file is moved by its parts, or with what it is joined to."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._users = births.module.users

    def is_moved(self, node: Node, depth: int = 0) -> bool:
        """Whether every use of a value ends in a move: of parts, of what those are joined to, of what is made alike."""
        users = [*self._telling(node)]
        users = users if node not in self._kept else [one for one in users if self._is_read(one)]
        if depth == MOST_JOINED or not users:
            unread = node.op is Op.PHI and node not in self._in_attributes
            return unread or self._is_only_measured(node)
        return all(
            self._births.is_move(one)
            or self._births.moves_of(one)
            or _is_for_host(one)
            or (self._hands_on(node, one) and self.is_moved(one, depth + 1))
            or self._moves_given(node, one, depth + 1)
            or self._moves_collected(node, one, depth + 1)
            for one in users
        )

    def _telling(self, node: Node) -> Iterator[Node]:
        """The uses of a value that say something of it: a display that is taken apart at once, `a, b = [], []`, says
        nothing."""
        for one in self._users.get(node, ()):
            taken_apart = one.op is Op.SEQUENCE and one not in self._users and one not in self._kept
            if one is not node and not taken_apart and not _says_little(node, one):
                yield one

    def _is_read(self, user: Node) -> bool:
        """Whether it is no join of branches that nothing reads."""
        return user.op is not Op.PHI or (user in self._births.module.read and user in self._users)

    def ends_on_host(self, node: Node, depth: int = 0) -> bool:
        """Whether every use of a value, or of what alone is computed of it, makes numbers, lists or arrays of it, or
        picks with it from another one: that asks for no device."""
        users = [*filter(self._is_read, self._telling(node))]
        if depth == MOST_JOINED or not users or node in self._kept:
            return False
        return all(
            _reads(node, one) or (self._is_alone_in(node, one) and self.ends_on_host(one, depth + 1)) for one in users
        )

    def asks_for_no_device(self, node: Node, depth: int = 0, *, joined: bool = False) -> bool:
        """Whether every use of a value ends in a move, on the host, or as an index: wherever it is, nothing fails.

        What was `joined` to others has to be moved: they were on the host then.
        """
        named = [one for one in self._users.get(node, ()) if one is not node and not is_measure(one)]
        users = [one for one in named if not self._is_later_name(node, one)]
        if depth == MOST_JOINED or node in self._kept or node in self._filled:
            return False
        if not users:
            unread = (node.op is Op.PHI or bool(named)) and not joined  # a name that nobody reads any more
            return node in self._picking or unread
        return all(
            self._births.is_move(one)
            or (not joined and not _exchanges(one) and (_is_for_host(one) or _reads(node, one)))
            or (self._takes_alone(node, one) and self.asks_for_no_device(one, depth + 1, joined=joined))
            or (
                not _is_picked_from(node, one)
                and self._hands_on(node, one)
                and self.asks_for_no_device(one, depth + 1, joined=True)
            )
            or (one.op is Op.SEQUENCE and bool(self._births.moves_of(one)))
            or (not joined and self._is_taken_apart(one))
            or self._asks_given(node, one, depth + 1, joined)
            for one in users
        )

    def _is_taken_apart(self, display: Node) -> bool:
        """The right side of `x, y = a[:3], a[3:]`, which nobody has as a whole."""
        return display.op is Op.SEQUENCE and display not in self._kept and not self._users.get(display)

    def _is_later_name(self, node: Node, user: Node) -> bool:
        """Whether a user is a name as functions inside see it, which none of them reads and which is another value."""
        return user.op is Op.PHI and _says_little(node, user) and user not in self._births.module.read

    def _takes_alone(self, node: Node, user: Node) -> bool:
        """`_is_alone_in`, and no index that may be on a device picks from the value."""
        if _is_picked_from(node, user):
            return is_slice(user) or all(self._births.kinds.of(one) not in {Kind.TENSOR, None} for one in indices(user))
        return self._is_alone_in(node, user)

    def _asks_given(self, node: Node, call: Node, depth: int, joined: bool) -> bool:
        """The same of what a function of this file gets."""
        given = parameters(node, call, self._births.calls.get(call))
        return bool(given) and all(self.asks_for_no_device(one, depth, joined=joined) for one in given)

    @cached_property
    def _picking(self) -> set[Node]:
        """What picks the parts that are stored to: `y[x] = 1`."""
        stores = self._births.module.stores
        return {store.index for store in stores if store.index is not None and not store.is_attribute}

    @cached_property
    def _in_attributes(self) -> set[Node]:
        """What an attribute of some object keeps."""
        return {store.value for store in self._births.module.stores if store.is_attribute}

    @cached_property
    def _filled(self) -> set[Node]:
        """What parts are stored to."""
        return {store.base for store in self._births.module.stores if not store.is_attribute}

    def _is_alone_in(self, node: Node, user: Node) -> bool:
        """Whether a user shows, converts or computes with a value, and meets no other one."""
        if user.op in {Op.PHI, Op.AFTER}:
            return True
        if user.op is Op.SEQUENCE:  # `x[rows, columns]`
            return all(one.op is Op.ITEM for one in self._users.get(user, ()))
        if user.op is Op.ITEM:
            return user.args[0] is node
        if user.op is Op.ATTR:
            return method_effect(str(user.extra)) in _ALONE and not names(user)
        others = [one for one in user.args if one is not node]
        if user.op is Op.CALL and user.args[0] is not node:
            if not any(effect(canonical(one)) in _ALONE for one in names(user.args[0])):
                return False
            others = others[1:]
        computes = user.op in {Op.CALL, Op.OPERATION, Op.COMPARE}
        return computes and all(self._births.kinds.of(one) not in {Kind.TENSOR, None} for one in others)

    def _is_only_measured(self, node: Node) -> bool:
        """Whether a value is asked for its shape, or for where it is, and nothing else is done with it."""
        users = self._users.get(node, ())
        return bool(users) and all(is_measure(one) or one.extra == "device" for one in users) and node not in self._kept

    @cached_property
    def _kept(self) -> set[Node]:
        """What functions return, or keep."""
        return self._births.module.kept

    def _moves_given(self, node: Node, call: Node, depth: int) -> bool:
        """Whether a call runs a function of this file that moves what it is given."""
        given = parameters(node, call, self._births.calls.get(call))
        return bool(given) and all(self.is_moved(one, depth) for one in given)

    def _moves_collected(self, node: Node, call: Node, depth: int) -> bool:
        """`rows.append(x)`, of a list of which the same is true, or that numpy reads: `torch.cat(rows).numpy()`."""
        callee = call.args[0] if call.op is Op.CALL else None
        if callee is None or callee.op is not Op.ATTR or callee.extra not in _GROWING or node not in call.args[1:]:
            return False
        rows = callee.args[0]
        is_own = rows.op is Op.SEQUENCE and rows not in self._kept
        return is_own and (self.is_moved(rows, depth) or self.ends_on_host(rows, depth))

    def _hands_on(self, node: Node, user: Node) -> bool:
        """`torch.cat`, `torch.stack`, and what hands values to them: rows, parts, conversions."""
        if user.op in {Op.SEQUENCE, Op.COMPREHENSION, Op.PHI}:
            return True
        if user.op is Op.ITEM:
            return user.args[0] is node
        if user.op is Op.ATTR:
            return method_effect(str(user.extra)) in _SAME and not names(user)
        if user.op is not Op.CALL:
            return False
        if user.args[0].op is Op.ATTR and user.args[0] is node:
            return True
        return any(effect(canonical(one)) in {Effect.SEQUENCE, Effect.LIKE} for one in names(user.args[0]))


def _exchanges(call: Node) -> bool:
    """`dist.all_reduce(x)`, for which tensors of the host are in the wrong place."""
    return call.op is Op.CALL and any(canonical(one) in rows.COLLECTIVES for one in names(call.args[0]))


def _is_picked_from(node: Node, user: Node) -> bool:
    return user.op is Op.ITEM and user.args[0] is node


def _says_little(node: Node, user: Node) -> bool:
    """Whether a user asks for the shape, makes a list longer, or is a name that functions inside see, which then is
    another value."""
    if user.op is Op.ATTR and user.extra in _GROWING:
        return True
    seen_inside = user.op is Op.PHI and user.syntax is node.function.syntax
    return is_measure(user) or (seen_inside and max(user.args, key=lambda one: one.index) is not node)


def _reads(node: Node, user: Node) -> bool:
    """`x.tolist()`, `float(x)`, `np.sum(x)`, `y[:x]`, and `y[x]`, where an index of the host may pick from a device."""
    if user.op is Op.ITEM:
        return user.args[0] is not node
    if is_bound(user):
        return True
    if user.op is Op.ATTR and not names(user):
        return method_effect(str(user.extra)) in {Effect.SYNC, Effect.TO_HOST, Effect.NEEDS_HOST}
    if user.op is not Op.CALL or user.args[0] is node:
        return False
    return any(effect(canonical(one)) in {Effect.READ, Effect.ARRAY} for one in names(user.args[0])) or calls_builtin(
        user, "float", "int", "bool", "len", "list", "range", "print"
    )


def _is_for_host(node: Node) -> bool:
    """`x.cpu`, `x.numpy`: what only those ask for may as well stay where it is."""
    return (
        node.op is Op.ATTR and not names(node) and method_effect(str(node.extra)) in {Effect.TO_HOST, Effect.NEEDS_HOST}
    )


def is_measure(node: Node) -> bool:
    """`x.shape`, `x.size`"""
    return node.op is Op.ATTR and node.extra in {"shape", "size", "numel", "dtype", "ndim", "dim"}


_GROWING = frozenset({"append", "extend"})
_ALONE = frozenset({Effect.SAME, Effect.ARITHMETIC})
_SAME = frozenset({Effect.SAME, Effect.LIKE, Effect.MOVE, Effect.CUDA})
