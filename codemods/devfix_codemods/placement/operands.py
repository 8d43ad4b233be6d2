"""Operands: what of a call's arguments has to be where the others are, and what the callee brings there itself."""

from collections.abc import Mapping, Sequence

from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import method_name, names
from devfix_codemods.placement.arguments import calls_builtin, keyword
from devfix_codemods.placement.calls import bound
from devfix_codemods.placement.calls import method as method_of
from devfix_codemods.placement.imported_calls import defined_elsewhere, moves_itself, takes_from_host
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.moves import Moves
from devfix_codemods.placement.naming import speaks_of_lengths


class Operands:
    """The operands of the calls of one file."""

    def __init__(self, kinds: Kinds, moves: Moves) -> None:
        self._kinds = kinds
        self._moves = moves

    def unmoved(self, call: Node) -> tuple[Node, ...]:
        """What a module, or an object that is called, gets, but for what its method, which is read, moves itself."""
        lengths = self.on_host(call)
        forward = self._runs(call.args[0])
        if forward is None:
            return tuple(one for one in call.args[1:] if one not in lengths)
        moved = lengths | {argument for argument, parameter in bound(call, forward) if self._takes_itself(parameter)}
        return tuple(one for one in call.args[1:] if one not in moved)

    def _runs(self, callee: Node) -> Function | None:
        """What calling an object of a class runs, or its method, or what another file defines."""
        if (defined := defined_elsewhere(self._kinds.imported, callee)) is not None:
            return defined
        owner = self._kinds.class_of(callee) or self._kinds.imported_class_of(callee)
        called: tuple[str, ...] = ("forward", "__call__")
        if owner is None and callee.op is Op.ATTR and not names(callee):
            owner, called = self._kinds.imported_class_of(callee.args[0]), (str(callee.extra),)
        found = (method_of(owner, one) for one in called) if owner is not None else ()
        return next((one for one in found if one is not None), None)

    def on_host(self, call: Node) -> set[Node]:
        """What a call takes from the host, or must, and what it does not use: lengths."""
        found = [canonical(one) for one in names(call.args[0])] or sorted(self._kinds.losses_of(call.args[0]))
        wanted = {at for one in found for at in (*rows.HOST_ARGUMENTS.get(one, ()), *_unused(call, one))}
        if not isinstance(call.extra, tuple):
            return set()
        if not found:
            named = zip(call.args[1:], call.extra)
            return {one for one, word in named if isinstance(word, str) and speaks_of_lengths(word)}
        return {
            one
            for at, (one, word) in enumerate(zip(call.args[1:], call.extra))
            if (at if word is None else word) in wanted
        }

    def _takes_itself(self, parameter: Node) -> bool:
        """Whether a function brings what it gets as `parameter` to where it needs it, on a device or on the host."""
        if self._moves.movers.get(parameter) or is_index(parameter):
            return True
        elsewhere = parameter.function.module is not self._kinds.module
        if elsewhere and (moves_itself(parameter) or takes_from_host(parameter)):
            return True
        users = [one for one in parameter.function.nodes if parameter in one.args and one.op is not Op.COMPARE]
        taken = parameter in self._moves.sent_to_host or any(self._takes_from_host(one, parameter) for one in users)
        return taken and all(
            (one.op is Op.ATTR and one.extra in _NOT_MEETING) or self._takes_from_host(one, parameter) for one in users
        )

    def _takes_from_host(self, user: Node, value: Node) -> bool:
        return user.op is Op.CALL and value in self.on_host(user)


def _unused(call: Node, called: str) -> frozenset[int | str]:
    """The arguments that a function has no use for, by what else it is told."""
    switch, unused = rows.UNUSED_ARGUMENTS.get(called, ("", frozenset()))
    told = keyword(call, switch)
    return unused if told is not None and (told.op is not Op.CONST or told.extra is True) else frozenset()


def is_index(value: Node, depth: int = 0) -> bool:
    """Whether a function only picks rows by a value, or by parts of it: indices may be on the host."""
    users = [one for one in value.function.nodes if value in one.args]
    rows_ = [one for one in users if one.op is Op.SEQUENCE]
    users += [one for one in value.function.nodes if not set(rows_).isdisjoint(one.args)]
    picks = [one for one in users if one.op is Op.ITEM and one.args[0] is not value]
    picks += [one for one in users if depth < MOST_PARTS and _is_part(one, value) and is_index(one, depth + 1)]
    return bool(picks) and all(
        one in picks or one in rows_ or (one.op is Op.ATTR and one.extra in _NOT_MEETING) or calls_builtin(one, "len")
        for one in users
    )


def is_only_returned(value: Node) -> bool:
    """Whether all that a function does with a value is to give it back, by itself or in a row."""
    given = {one for one, _ in value.function.returns}
    users = [one for one in value.function.nodes if value in one.args]
    return (value in given or bool(users)) and all(one.op is Op.SEQUENCE and one in given for one in users)


def is_only_spread(value: Node, users: Mapping[Node, Sequence[Node]]) -> bool:
    """`names.extend(batch["name"])`: the elements of a value are wanted one by one, as those of texts and ids are."""
    done = [one for one in users.get(value, ()) if one.op not in {Op.ITER, Op.PHI} or users.get(one)]
    return bool(done) and all(value in one.args[1:] and method_name(one) == "extend" for one in done)


def _is_part(user: Node, value: Node) -> bool:
    """`near[i]`, `near.long`, and what converts it to indices."""
    if user.op is Op.CALL:
        converts = any(effect(canonical(one)) in _CONVERTING for one in names(user.args[0]))
        return user.args[0] is value or (converts and user.args[1:] == (value,))
    return user.args[:1] == (value,) and (
        user.op is Op.ITEM or (user.op is Op.ATTR and user.extra in {"long", "int", "bool"})
    )


MOST_PARTS = 4
_CONVERTING = frozenset({Effect.HOST, Effect.CONVERSION})
_NOT_MEETING = rows.PLAIN_ATTRIBUTES | {"cpu", "size"}
