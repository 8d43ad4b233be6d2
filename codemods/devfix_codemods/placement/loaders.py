"""What loaders give: items that a dataset, a collate function or a generator has placed already, and batches that a
helper places in place."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind, canonical, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.catalogue.libraries import LISTS_IN_ROWS
from devfix_codemods.ir import Function, Guard, Node, Op
from devfix_codemods.ir.items import part_of
from devfix_codemods.ir.keys import key, name, resolved
from devfix_codemods.placement.arguments import is_none, keyword
from devfix_codemods.placement.calls import bound
from devfix_codemods.placement.collations import Collations
from devfix_codemods.placement.places import Where, place_of

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


class Loaders:
    """Where the items of the loaders of one file are."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._kinds = births.kinds
        self._known: dict[Node, bool] = {}
        self.collations = Collations(births)

    def may_place(self, iterable: Node) -> bool:
        """Whether what a loader gives may have been placed before it gives it."""
        found = self._known.get(iterable)
        if found is None:
            called = self._births.calls.get(iterable)
            found = self._known[iterable] = (
                (called is not None and called.yields and self._moves(called))
                or any(self._places(one) for one in self.calls_of(iterable))
                or any(map(self._moves, self.collations.of(iterable)))
                or self._kinds.find(iterable) in self._told
                or self._is_wrapped(iterable)
            )
        return found

    def collates_elsewhere(self, iterable: Node) -> bool:
        """Whether what puts the batches of a loader together cannot be read."""
        return any(map(self.collations.is_unread, (iterable, *self.calls_of(iterable))))

    def calls_of(self, iterable: Node) -> Iterator[Node]:
        """The calls that make a loader, here or where another file gives it."""
        return (one for one in self._made if one is iterable or self._kinds.find(one) is self._kinds.find(iterable))

    @cached_property
    def _made(self) -> list[Node]:
        given = (one for values in self._kinds.elsewhere.values() for one in values if one.op is Op.CALL)
        calls = (*self._births.module.of(Op.CALL), *given)
        return [one for one in calls if canonical(name(one.args[0]) or "") in rows.LOADERS]

    @cached_property
    def _told(self) -> set[Node]:
        """What stands for the results of calls that are told a device: loaders of timm and dgl place batches."""
        return {self._kinds.find(one) for one in self._births.module.of(Op.CALL) if self._is_told(one)}

    def _is_wrapped(self, iterable: Node) -> bool:
        """Whether some caller gives what something makes that is not read: of what gives a loader, that is known."""
        given = self._kinds.elsewhere.get(iterable, ())
        if given and all(one in self._made for one in given):
            return False
        return any(self._kinds.find(one) is self._kinds.find(iterable) for one in self._births.wrapped)

    def _places(self, loader: Node) -> bool:
        if any(map(self._moves, self.collations.of(loader))):
            return True
        dataset = loader.args[1] if loader.extras[:1] == (None,) else keyword(loader, "dataset")
        return dataset is not None and self._is_placed(dataset)

    def _is_placed(self, data: Node, depth: int = 0) -> bool:
        """Whether a dataset, or what it is made of, is on a device."""
        data = resolved(data)
        if depth > 6:
            return False
        if data.op in {Op.PHI, Op.AFTER, Op.ITEM, Op.SEQUENCE}:
            return any(self._is_placed(one, depth + 1) for one in data.args)
        if data.op is not Op.CALL:
            return False
        if self._births.is_move(data):
            return self._births.is_elsewhere(data)
        made = self._births.imported.class_of(data.args[0])
        if made is not None and made not in self._births.module.classes:
            return False  # `Datasets` follows what those give
        if made is not None:
            return any(self._moves(one) for one in made.methods.values() if one.name in {"__init__", "__getitem__"})
        if self._births.is_moving_call(data):
            return True
        passes = (name(data.args[0]) or "").startswith("torch.utils.data.")
        return passes and any(self._is_placed(one, depth + 1) for one in data.args[1:])

    def _moves(self, function: Function) -> bool:
        """Whether a function moves something to a device, or makes it there."""
        births = self._births
        return any(
            (births.is_move(one) and births.is_elsewhere(one)) or self._is_told(one)
            for one in function.nodes
            if one.op is Op.CALL
        )

    def _is_told(self, call: Node) -> bool:
        device = keyword(call, "device")
        place = place_of(device, self._kinds) if device is not None else None
        return place is not None and place.where is not Where.HOST

    # What collate functions and libraries say of the parts of a batch

    def is_no_tensor(self, part: Node) -> bool:
        """Whether a part of a batch is surely something else: an array, a list."""
        if any(self._kinds.of(one) in {Kind.ARRAY, Kind.TEXT} for one in self._collated(part)):
            return True
        if self.collations.is_list(part):
            return True
        index = next((place for package, place in LISTS_IN_ROWS.items() if self._births.imports({package})), None)
        if index is None or part.op is not Op.ITEM or part.extra != index or part.args[0].op is not Op.ITER:
            return False
        users = self._births.module.users.get(part, ())
        return not any(one.op is Op.ATTR and method_effect(str(one.extra)) is not None for one in users)

    def is_tensor(self, part: Node) -> bool:
        """Whether a collate function makes a tensor of a part of a batch."""
        return any(self._kinds.of(one) is Kind.TENSOR for one in self._collated(part))

    def may_be_none(self, part: Node) -> bool:
        """Whether a collate function gives None for a part of a batch, on some path."""
        return any(
            is_none(each) for one in self._collated(part) for each in (one, *(one.args if one.op is Op.PHI else ()))
        )

    def _collated(self, part: Node) -> Iterator[Node]:
        """What a collate function gives as a part of its batches."""
        if part.op is not Op.ITEM or part.args[0].op is not Op.ITER:
            return
        for loader in self.calls_of(part.args[0].args[0]):
            for value, _ in (each for collate in self.collations.of(loader) for each in collate.returns):
                if (given := part_of(value, part.extra)) is not None:
                    yield given

    # Batches that are placed in place

    def is_placed_in_place(self, part: Node) -> bool:
        """Whether `part` is read from a batch behind a call that places all that the batch holds."""
        base = part.args[0] if part.op in {Op.ITEM, Op.ATTR} else part
        return any(call.index < part.index and call.function is part.function for call in self._placing.get(base, ()))

    @cached_property
    def _placing(self) -> dict[Node, list[Node]]:
        found: dict[Node, list[Node]] = {}
        for node in self._births.module.of(Op.CALL):
            if node not in self._births.used:
                for batch in self._placed_by(node):
                    found.setdefault(batch, []).append(node)
        return found

    def _placed_by(self, call: Node) -> Iterator[Node]:
        """What a call, whose result nobody needs, places: `move(batch, device)`, `batch.to_device(device)`."""
        called = self._births.calls.get(call)
        if called is not None:
            refilled = {
                store.base for store in called.stores if store.key is None and self._births.is_move(store.value)
            }
            yield from (argument for argument, parameter in bound(call, called) if parameter in refilled)
        elif self._births.is_moving_call(call):
            callee = call.args[0]
            yield from (one for one in call.args[1:] if self._kinds.of(one) is None)
            if callee.op is Op.ATTR and method_effect(str(callee.extra)) is None:
                yield callee.args[0]


def is_no_tensor(node: Node, guard: Guard) -> bool:
    """Whether a test has said, on a path, that a value is no tensor."""
    asked = (("call", ("REF", "builtins.hasattr"), key(node), ("const", repr(one))) for one in _OF_ALL_TENSORS)
    lacks = any((one, False) in guard for one in asked) if guard else False
    return lacks or is_plain(node, guard) or any("Tensor" in types for types in _tested(node, guard, holds=False))


def is_plain(node: Node, guard: Guard) -> bool:
    """Whether a test has said, on a path, that a value is None, a text, a number or an array."""
    is_none = (("none", key(node)), True) in guard
    return is_none or any(_PLAIN.fullmatch(types) for types in _tested(node, guard, holds=True))


def is_other_than_tensor(node: Node, guard: Guard) -> bool:
    """The same, and whether it has said that a value is a container, which may hold tensors and is none."""
    return is_no_tensor(node, guard) or any(_ROWS.fullmatch(types) for types in _tested(node, guard, holds=True))


def _tested(node: Node, guard: Guard, *, holds: bool) -> Iterator[str]:
    """The types that a value has, or has not, by the tests of a path."""
    for atom, held in guard:
        if held is holds and isinstance(atom, tuple) and atom[0] == "isinstance" and atom[1] == key(node):
            yield str(atom[2])


_OF_ALL_TENSORS = ("cpu", "to", "cuda", "detach", "device", "numpy")
"""Attributes that no tensor lacks."""
_PLAIN = re.compile(
    r"[(\[{]?(?:(?:str|bytes|int|float|bool|(?:numbers\.)?(?:Number|Real|Integral)|(?:np|numpy)\.ndarray"
    r"|(?:pathlib\.)?Path),? ?)+[)\]}]?"
)
"""Types that no tensor has, nor what holds tensors."""
_ROWS = re.compile(r"[(\[{]?(?:(?:tuple|list|dict|set|frozenset|Sequence|Mapping|Iterable),? ?)+[)\]}]?")
