"""Factories whose arguments say what their tensor goes with: `ones(x.shape[0])`, `zeros(n, dtype=x.dtype)`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name, names
from devfix_codemods.placement.arguments import calls_builtin, keyword, shows
from devfix_codemods.placement.calls import bound
from devfix_codemods.placement.graph import MADE, Birth
from devfix_codemods.placement.indices import indices
from devfix_codemods.placement.naming import sounds_like_length
from devfix_codemods.placement.operands import is_index

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


class ShapeArguments:
    """Adds what sizes and dtypes say of the factories of one file."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._kinds = births.kinds
        self._users = births.module.users
        self._held: dict[Node, list[Node]] = {}
        """The containers that each value is put into."""
        for store in births.module.stores:
            if not store.is_attribute and store.base.op in {Op.MAPPING, Op.SEQUENCE}:
                self._held.setdefault(store.value, []).append(store.base)
        filled = (one.base for one in births.module.stores if not one.is_attribute and one.index is not None)
        self._filled = {root for one in filled for root in births.roots(one)}
        """What gets its values item by item."""
        self._given_away = births.module.returned

    def all(self) -> None:
        graph = self._births.graph
        for node, sources in list(graph.sources.items()):
            if not any(one.birth in MADE and not one.scalar for one in sources) or node.op is not Op.CALL:
                continue
            typed = self._dtype_of(node)
            fitted = typed or self._size_of(node)
            if fitted is None or is_index(fitted):  # what only picks may be on the host
                continue
            if not self._is_moved(node) and self._goes_on(node):
                sized = "fits-filled" if node in self._filled and self._is_only_kept(node) else "fits"
                graph.supports(node, fitted, sized if typed is None else "fits-dtype", node.guard)

    def _is_only_kept(self, node: Node) -> bool:
        """Whether nothing here computes with a value: what is copied into it may come from anywhere."""
        pending = [node]
        for one in pending:  # grows
            users = [each for each in self._users.get(one, ()) if each not in pending]
            if any(each.op not in _KEEPING for each in users):
                return False
            pending += users
        return True

    # What it fits

    def _dtype_of(self, call: Node) -> Node | None:
        given = keyword(call, "dtype")
        return self._tensor(given.args[0]) if given is not None and _is_read(given, "dtype") else None

    def _size_of(self, call: Node) -> Node | None:
        """The tensor of which a size is a size of what is made."""
        if effect(canonical(name(call.args[0]) or "")) is Effect.CONVERSION:
            return None
        pending = [one for one, word in zip(call.args[1:], call.extras) if word in {None, "*", "size"}]
        seen = set(pending)
        for one in pending:  # grows
            if (found := self._measured(one)) is not None:
                return found
            parts = one.args if one.op in _CARRYING else one.args[1:] if calls_builtin(one, "list", "tuple") else ()
            pending += [each for each in dict.fromkeys(parts) if each not in seen]
            seen.update(parts)
        return None

    def _measured(self, size: Node) -> Node | None:
        """`x` of `x.shape`, `x.size(0)` and `len(x)`."""
        if _is_read(size, "shape"):
            return self._tensor(size.args[0])
        if calls_builtin(size, "len"):
            return self._tensor(size.args[1])
        if size.op is Op.CALL and size.args[0].op is Op.ATTR and size.args[0].extra in {"size", "numel"}:
            return self._tensor(size.args[0].args[0])
        return None

    def _tensor(self, node: Node) -> Node | None:
        return node if self._kinds.of(node) is Kind.TENSOR or self._is_input(node) else None

    def _is_input(self, node: Node) -> bool:
        """Whether a module gets it, and nothing says that it is no tensor."""
        function = node.function
        own = node.op is Op.PARAM and function.name == "forward" and function.owner in self._kinds.module_classes
        return own and node is not function.self_node and self._kinds.of(node) is None

    # Where it goes

    def _is_moved(self, made: Node) -> bool:
        """Whether a tensor is moved, or what the expression around computes of it: `fill(zeros(3)).to(device)`."""
        pending = [made]
        for one in pending:  # grows
            if self._births.moves_of(one):
                return True
            pending += (
                user
                for user in self._users.get(one, ())
                if user.op in _COMPUTED and user.statement is made.statement and user not in pending
            )
        return False

    def _goes_on(self, made: Node) -> bool:
        """Whether a tensor is given to a function or returned as one, and nothing on the way reads it on the host."""
        views = list(self._views(made))
        if any(self._is_on_host(user) for one in views for user in self._users.get(one, ())):
            return False
        if any(self._is_picked_on_host(one) for one in views):
            return False
        if any(sounds_like_length(one) for one in views) or any(self._replaces_host(one, views) for one in views):
            return False
        return any(one in self._given_away or self._is_handed_on(one) for one in views)

    def _is_picked_on_host(self, item: Node) -> bool:
        """`names[scores.cpu() > 0]`: whether an index was brought to the host for this."""
        pending = list(indices(item)) if item.op is Op.ITEM else []
        for one in pending:  # grows
            if self._births.graph.is_born(one, {Birth.CHOSEN_HOST}):
                return True
            parts = one.args if one.op in {Op.COMPARE, Op.OPERATION} else ()
            pending += (each for each in dict.fromkeys(parts) if each not in pending)
        return False

    def _replaces_host(self, choice: Node, views: list[Node]) -> bool:
        """Whether what stands on the other path of a choice was brought to the host, or is joined of such parts."""
        pending = [one for one in choice.args if one not in views] if choice.op is Op.PHI else []
        if len(pending) == 1 and pending[0].op is Op.CALL:
            pending += pending[0].args[1:]
        for one in pending:  # grows
            if self._births.graph.is_born(one, {Birth.CHOSEN_HOST}):
                return True
            if one.op is Op.SEQUENCE:
                pending += (each for each in (*one.args, *self._appended(one)) if each not in pending)
        return False

    def _appended(self, row: Node) -> Iterator[Node]:
        """What is put into a list."""
        for method in self._users.get(row, ()):
            if method.op is Op.ATTR and method.extra == "append":
                yield from (each for call in self._users.get(method, ()) for each in call.args[1:])

    def _views(self, made: Node) -> Iterator[Node]:
        """The tensor, what only shows or converts it, and what it is called in functions that get it."""
        seen, pending = {made}, [made]
        for one in pending:  # grows
            yield one
            held = [each for each in self._held.get(one, ()) if each not in seen]
            seen.update(held)
            pending += held
            for user in self._users.get(one, ()):
                if user not in seen and self._shows(user, one):
                    seen.add(user)
                    pending.append(user)
                elif user not in seen and (called := self._births.calls.get(user)) is not None:
                    within = {parameter for value, parameter in bound(user, called) if value is one} - seen
                    seen |= within
                    pending += within

    def _shows(self, user: Node, one: Node) -> bool:
        if user.op in {Op.PHI, Op.AFTER, Op.SEQUENCE}:
            return True
        if user.op is Op.ITEM:
            return user.args[0] is one
        if user.op is Op.ATTR:
            return method_effect(str(user.extra)) in _SHOWING
        callee = user.args[0] if user.op is Op.CALL else None
        if callee is not None and callee is one and one.op is Op.ATTR:
            return True
        found = names(callee) if callee is not None else ()
        return bool(found) and effect(canonical(found[0])) in _SHOWING and user.args[1:2] == (one,)

    def _is_on_host(self, user: Node) -> bool:
        if user.op is Op.ITER or user.op is Op.COMPARE:
            return True
        if user.op is Op.ITEM or shows(user):
            return False
        callee = user.args[0] if user.op is Op.CALL else user
        if callee.op is Op.ATTR and not names(callee):
            return method_effect(str(callee.extra)) in _READING or self._births.is_move(user)
        found = [canonical(one) for one in names(callee)[:1]]
        return any(effect(one) in _READING_CALLS or one in rows.HOST_SAMPLING for one in found)

    def _is_handed_on(self, one: Node) -> bool:
        """Whether a call gets it that is not in the catalogue."""
        return any(
            user.op is Op.CALL
            and user.args[0] is not one
            and not any(effect(canonical(each)) is not None for each in names(user.args[0]))
            and not (user.args[0].op is Op.ATTR and _is_known(str(user.args[0].extra)))
            for user in self._users.get(one, ())
        )


def _is_read(node: Node, attribute: str) -> bool:
    return node.op is Op.ATTR and node.extra == attribute


def _is_known(method: str) -> bool:
    return method in _COLLECTING or method_effect(method) is not None


_COLLECTING = frozenset({"append", "extend", "insert", "add", "update"})
"""Methods of containers: what they hold is often read on the host."""
_COMPUTED = frozenset({Op.CALL, Op.ATTR, Op.ITEM, Op.OPERATION, Op.COMPARE, Op.SEQUENCE})
_KEEPING = frozenset({Op.PHI, Op.SEQUENCE, Op.MAPPING, Op.AFTER})
_CARRYING = frozenset({Op.OPERATION, Op.SEQUENCE, Op.ITEM})
_SHOWING = frozenset({Effect.SAME, Effect.PASS})
_READING = frozenset({Effect.SYNC, Effect.NEEDS_HOST, Effect.TO_HOST})
_READING_CALLS = frozenset({Effect.READ, Effect.ARRAY, Effect.HOST, Effect.CONVERSION})
