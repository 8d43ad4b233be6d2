"""Whether what is moved by a statement of its own is a tensor: modules are moved in place."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import takewhile

from devfix_codemods.assumptions.index import Index
from devfix_codemods.catalogue import Kind
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.discards.discarded import Discard, discards
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key, name
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Birth, Turn
from devfix_codemods.placement.loaders import is_no_tensor
from devfix_codemods.placement.naming import sounds_like_model
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cuts import SAFE, UNSAFE


class Tensors:
    """Tells which of the moves that stand alone are of tensors.

    `without` reads the file as if calls moved nothing: an unmoved part of a batch that meets what is elsewhere is one.
    """

    def __init__(self, index: Index, without: Callable[[frozenset[ast.AST]], Analysis]) -> None:
        self._index = index
        self._kinds = index.analysis.kinds
        self._without = without
        self.all = list(discards(index))

    def is_one(self, discard: Discard) -> bool:
        """Whether a value is a tensor, as far as the file tells; entries of what a model is given most likely are."""
        receiver = discard.receiver
        if is_no_tensor(receiver, discard.call.guard) or self._is_annotated_otherwise(receiver):
            return False
        if discard.is_conversion or discard.owner is not None or _is_type_checked(discard):
            return True
        kind = self._kinds.of(receiver)
        if kind is not None:
            return kind is Kind.TENSOR
        return self._left(discard) >= UNSAFE or _is_input(self._index, discard) or self._is_by_name(receiver)

    def is_surely_one(self, discard: Discard) -> bool:
        """Whether something says so, and not only the functions that a parameter is handed on to.

        `x.type_as(y)` alone is a tensor's (`is_one`), but not surely.
        """
        if discard.is_conversion or _is_type_checked(discard) or discard.owner is not None:
            return not discard.is_conversion
        receiver = discard.receiver
        made = next(iter(self._index.analysis.births.roots(receiver)), receiver)
        given = any(one.op is not Op.PARAM for one in self._kinds.given.get(made, ()))
        told = made.op is not Op.PARAM or _annotation(made) is not None or given
        known = self._kinds.of(receiver) is Kind.TENSOR and (told or self._is_used_as_one(made))
        return known or self._left(discard) >= SAFE

    def _is_used_as_one(self, value: Node) -> bool:
        """Whether its function does with a value what is done with tensors alone."""
        for user in value.function.nodes:
            taken = user.args if user.op is Op.OPERATION or (user.op is Op.ATTR and user.extra in _OF_TENSORS) else ()
            if user.op is Op.CALL and (name(user.args[0]) or "").startswith("torch."):
                taken = user.args[1:]
            if any(self._kinds.find(one) is self._kinds.find(value) and one.op is not Op.CONST for one in taken):
                return True
        return False

    def _is_annotated_otherwise(self, receiver: Node) -> bool:
        """Whether a parameter is told to be an object of a class that the catalogue does not know."""
        made = next(iter(self._index.analysis.births.roots(receiver)), receiver)
        return _annotation(made) is not None and not self._kinds.says_surely(made, Kind.TENSOR)

    def _is_by_name(self, receiver: Node) -> bool:
        """Whether a parameter is a tensor under its name in another function, and nothing else in any."""
        word = str(receiver.extra)
        if receiver.op is not Op.PARAM or receiver is receiver.function.self_node:
            return False
        named = [one.parameters[word] for one in self._index.analysis.module.functions if word in one.parameters]
        if any(self._kinds.says_other(one, Kind.TENSOR) for one in named):
            return False
        others = [one for one in named if one is not receiver]
        return any(self._kinds.of(one) is Kind.TENSOR or self._is_used_as_one(one) for one in others)

    def _left(self, discard: Discard) -> float:
        """How surely a part of a batch, if it is not moved, meets what is elsewhere."""
        part, whole = discard.receiver, discard.container
        if whole is None or (part.op is Op.ITER and not discard.is_any_entry):
            return 0.0
        return max((confidence for node, confidence in self._conflicts if _is_of(node, discard)), default=0.0)

    @cached_property
    def _conflicts(self) -> list[tuple[Node, float]]:
        """What would be misplaced if nothing that stands alone moved: the values before they meet others."""
        calls = frozenset(one.syntax for one in self.all if not self._kinds.is_module(one.receiver))
        return [
            (node, conflict.confidence)
            for conflict in self._without(calls).conflicts
            if conflict.birth.birth not in _OTHERS
            for node in _before_meeting(conflict)
        ]


def _is_of(node: Node, discard: Discard) -> bool:
    """Whether a value, of another reading of the file, is what is moved, or one of the entries that are."""
    if discard.is_any_entry and discard.container is not None and node.op is Op.ITEM:
        return node.args[0].index == discard.container.index
    return node.index == discard.receiver.index


def _before_meeting(conflict: Conflict) -> Iterator[Node]:
    yield conflict.birth.node
    yield from (step.node for step in takewhile(lambda step: step.edge.turn is not Turn.MEET, conflict.path))


def _annotation(node: Node) -> object:
    return getattr(node.syntax, "annotation", None) if node.op is Op.PARAM else None


def _is_type_checked(discard: Discard) -> bool:
    """Whether a test has found that it is one: `if torch.is_tensor(x):`"""
    asked = ("isinstance", key(discard.receiver))
    return any(
        holds and isinstance(atom, tuple) and atom[:2] == asked and _TENSORS.search(str(atom[2]))
        for atom, holds in discard.call.guard
    )


def _is_input(index: Index, discard: Discard) -> bool:
    """Whether a loop moves the entries of a mapping one by one, and a model is given the mapping or an entry after."""
    whole = discard.container
    if whole is None or not discard.is_any_entry or sounds_like_model(_word(whole).removesuffix("s")):
        return False
    entries = [one for one in index.users[whole] if one.op in {Op.ITEM, Op.ITER}]
    if any(index.analysis.kinds.is_module(one) for one in entries):
        return False
    return any(
        user.op is Op.CALL and user.index > discard.call.index and one in user.args[1:] and _is_model(index, user)
        for one in (whole, *entries)
        for user in index.users[one]
    )


def _is_model(index: Index, call: Node) -> bool:
    """`self(…)`, `model(…)`, `model.generate(…)`"""
    callee = call.args[0]
    called = [callee, *(callee.args if callee.op is Op.ATTR else ())]
    return any(index.analysis.kinds.is_module(one) or sounds_like_model(_word(one)) for one in called)


def _word(node: Node) -> str:
    return str(node.extra)


_OF_TENSORS = rows.TENSOR_ONLY | rows.OF_ARRAYS
"""Methods of what, if it is moved, is a tensor."""
_TENSORS = re.compile(r"^(?!.*Module).*Tensor")
_OTHERS = frozenset({Birth.MODULE, Birth.ENCODING, Birth.READER})
"""Births of what is moved in place, and of what is only read."""
