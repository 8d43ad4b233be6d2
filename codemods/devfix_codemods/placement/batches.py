"""What loaders and generators give, as far as the code that makes it is read: parts that are placed, and parts that are
plain numbers."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Module, Node, Op
from devfix_codemods.ir.items import part_of
from devfix_codemods.ir.keys import name, names, resolved
from devfix_codemods.ir.nodes import Store
from devfix_codemods.placement.arguments import keyword
from devfix_codemods.placement.calls import method as method_of
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.places import Where

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

MOST_VALUES = 300
"""How many values are looked at for one part of a batch."""

Part = tuple[Node, object]
"""A value, and the constant index under which a part of it is read, None where all of it is."""


class Batches:
    """Follows the parts of batches back to what they are made of."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._kinds: Kinds = births.kinds
        self._module: Module = births.module

    def is_placed(self, iterable: Node, key: object) -> bool:
        """Whether what is read under `key` from the elements of `iterable` was moved to, or made on, a device."""
        return any(self._reaches_device(value, key) for value in (*self._given(iterable), *self._datasets(iterable)))

    def is_plain(self, iterable: Node, key: object) -> bool:
        """Whether a generator, or what collates, gives a number, or a text, under `key`."""
        parts = [self._narrowed(value, key) for value in self._given(iterable)]
        return bool(parts) and all(part is not None and self._is_number(part) for part in parts)

    def _is_number(self, node: Node) -> bool:
        if node.op is Op.CALL and any(effect(canonical(one)) is Effect.READ for one in names(node.args[0])):
            return True
        return self._kinds.of(node) in {Kind.NUMBER, Kind.TEXT}

    # What makes batches

    def _given(self, iterable: Node) -> Iterator[Node]:
        """The batches themselves: what a list holds, or what a generator or the `collate_fn` of a loader gives."""
        meant = [iterable]
        for one in meant:  # grows
            yield from self._listed(one)
            if len(meant) < MOST_VALUES:
                meant += [each for each in dict.fromkeys(self._same(one)) if each not in meant]
        for loader in self._loaders(iterable):
            for collate in self._births.loaders.collations.of(loader):
                yield from (value for value, _ in collate.returns)

    def _same(self, iterable: Node) -> Iterator[Node]:
        """What an iterable may be: what callers give, a function returns, an attribute keeps, or it goes through."""
        yield from self._kinds.given.get(iterable, ())
        yield from _copied(iterable)
        called, owner = self._births.calls.get(iterable), self._kinds.class_of(iterable)
        if called is not None and not called.yields:
            yield from (value for value, _ in called.returns)
        if owner is not None:
            yield from self._results(owner, "__iter__")
        if iterable.op is Op.ATTR and (of := self._kinds.class_of(iterable.args[0])) is not None:
            yield from self._stored(of, str(iterable.extra))
        if iterable.op is Op.PHI or (iterable.op is Op.OPERATION and iterable.extra == "Add"):
            yield from iterable.args

    def _listed(self, iterable: Node) -> Iterator[Node]:
        called = self._births.calls.get(iterable)
        owner = self._kinds.class_of(iterable)
        if iterable.op is Op.COMPREHENSION:
            yield iterable.args[0]
        elif iterable.op is Op.SEQUENCE:
            yield from iterable.args
        elif called is not None and called.yields:
            yield from (value for value, _ in called.returns)
        elif owner is not None:
            yield from self._iterated(owner)
        yield from self._filled.get(self._kept(iterable), ())

    def _iterated(self, owner: Class) -> Iterator[Node]:
        for value in self._results(owner, "__iter__"):
            if value is value.function.self_node:
                yield from self._results(owner, "__next__")
            else:
                yield value

    @cached_property
    def _filled(self) -> dict[Node, list[Node]]:
        """What is put into lists: `batches.append((x, y))`."""
        found: dict[Node, list[Node]] = defaultdict(list)
        for store in self._module.stores:
            if not store.is_attribute and store.key is None:
                found[self._kept(store.base)].append(store.value)
        return found

    def _kept(self, node: Node) -> Node:
        """What stands for an attribute in all methods; of anything else, itself."""
        owner = self._kinds.class_of(node.args[0]) if node.op is Op.ATTR else None
        return node if owner is None else owner.field_of(str(node.extra))

    def _datasets(self, iterable: Node) -> Iterator[Node]:
        """The datasets of the loaders that may be meant, unless something else makes batches of their items."""
        for loader in self._loaders(iterable):
            dataset = keyword(loader, "dataset") or next(iter(loader.args[1:2]), None)
            if dataset is not None and keyword(loader, "collate_fn") is None:
                yield dataset

    def _loaders(self, iterable: Node) -> list[Node]:
        return self._made.get(self._kinds.find(iterable), [])

    @cached_property
    def _made(self) -> dict[Node, list[Node]]:
        """The calls of `DataLoader`, by what stands for all copies of their results."""
        found: dict[Node, list[Node]] = defaultdict(list)
        for node in self._module.of(Op.CALL):
            if any(canonical(one) in rows.LOADERS for one in names(node.args[0])):
                found[self._kinds.find(node)].append(node)
        return found

    def _results(self, owner: Class, called: str) -> Iterator[Node]:
        found = method_of(owner, called)
        if found is not None:
            yield from (value for value, _ in found.returns)

    # What they are made of

    def _reaches_device(self, value: Node, key: object) -> bool:
        pending: list[Part] = [(value, key)]
        seen: set[Part] = set()
        while pending and len(seen) < MOST_VALUES:
            part = pending.pop()
            if part in seen:
                continue
            seen.add(part)
            place = self._births.place_given(part[0])
            if place is not None and place.where is Where.DEVICE:
                return True
            if place is None or place.where is Where.FOLLOWS:
                pending += self._made_of(*part)
        return False

    def _made_of(self, node: Node, key: object) -> Iterator[Part]:
        narrowed = self._narrowed(node, key)
        if narrowed is not None:
            yield narrowed, None
            return
        owner = self._kinds.class_of(node)
        if owner is not None:
            yield from ((one, key) for one in self._results(owner, "__getitem__"))
        elif self._kinds.of(node) in _WITHOUT_PLACE:
            return
        elif node.op is Op.CALL:
            yield from ((one, key) for one in self._of_call(node))
        elif node.op is Op.ITER:
            yield from ((one, key) for one in (*self._given(node.args[0]), *node.args))
        elif node.op is Op.ATTR and (of := self._kinds.class_of(node.args[0])) is not None:
            yield from ((one, key) for one in self._stored(of, str(node.extra)))
        elif node.op is Op.PARAM:
            yield from ((one, key) for one in self._kinds.given.get(node, ()))
        elif node.op is Op.GLOBAL:
            if (found := resolved(node)) is not node:
                yield found, key
        else:
            yield from ((one, key) for one in node.args)

    def _narrowed(self, node: Node, key: object) -> Node | None:
        """The part of a display, or the tensor of a `TensorDataset`, that is read under `key`."""
        if node.op is not Op.CALL or name(node.args[0]) not in _TENSOR_DATASETS:
            return part_of(node, key)
        values = node.args[1:]
        return values[key] if isinstance(key, int) and -len(values) <= key < len(values) else None

    def _of_call(self, call: Node) -> Iterator[Node]:
        callee = call.args[0]
        called = self._births.calls.get(call)
        if called is not None:
            yield from (value for value, _ in called.returns)
        elif copied := _copied(call):
            yield from copied
        elif any(effect(canonical(one)) in _MAKING for one in names(callee)) or (
            callee.op is Op.ATTR and method_effect(str(callee.extra)) is Effect.READ
        ):
            return
        else:
            if callee.op is Op.ATTR and not names(callee):
                yield callee.args[0]
            yield from call.args[1:]

    def _stored(self, owner: Class, attribute: str) -> Iterator[Node]:
        lineage = owner.lineage()
        return (one.value for one in self._stores[attribute] if self._kinds.class_of(one.base) in lineage)

    @cached_property
    def _stores(self) -> dict[object, list[Store]]:
        """What is stored in attributes, by their names."""
        found: dict[object, list[Store]] = defaultdict(list)
        for store in self._module.stores:
            if store.is_attribute:
                found[store.key].append(store)
        return found


def _copied(call: Node) -> tuple[Node, ...]:
    """What a call gives the elements of: `list(batches)`."""
    copies = call.op is Op.CALL and not _COPYING.isdisjoint(names(call.args[0]))
    return call.args[1:2] if copies else ()


_MAKING = frozenset({Effect.FACTORY, Effect.HOST, Effect.READ, Effect.ARRAY, Effect.MODULE})
"""What is no copy of what it gets."""
_COPYING = frozenset(f"builtins.{one}" for one in ("iter", "list", "reversed", "sorted", "tuple"))
_COPYING |= {"itertools.cycle", "itertools.islice", "random.sample"}
_TENSOR_DATASETS = frozenset({"torch.utils.data.TensorDataset", "torch.utils.data.dataset.TensorDataset"})
_WITHOUT_PLACE = frozenset({Kind.NUMBER, Kind.TEXT, Kind.DTYPE, Kind.DEVICE, Kind.ARRAY, Kind.MODULE, Kind.TOKENIZER})
