"""Elements: the parts of the batches that loaders give, which are born on the host unless something has placed them."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind, libraries, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.items import choices, is_slice, whole
from devfix_codemods.ir.keys import method_name, names
from devfix_codemods.ir.nodes import Store
from devfix_codemods.ir.passing import gives_elements
from devfix_codemods.placement.arguments import calls_builtin, is_none
from devfix_codemods.placement.batches import Batches
from devfix_codemods.placement.calls import bound, spread
from devfix_codemods.placement.data_graphs import moves_graphs
from devfix_codemods.placement.datasets import Datasets
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.kept_elsewhere import placed_elsewhere
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.loaders import Loaders, is_no_tensor
from devfix_codemods.placement.naming import sounds_like_number, sounds_like_text, sounds_otherwise
from devfix_codemods.placement.non_tensors import has_no_move, holds_mappings, is_asked_as_object, is_function, is_plain
from devfix_codemods.placement.places import HOST, Place, Where
from devfix_codemods.placement.plain_containers import is_container
from devfix_codemods.placement.replaced_parts import replaced
from devfix_codemods.placement.strengths import STRENGTHS

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


class Elements:
    """Adds the parts of batches of one file to the graph."""

    def __init__(self, births: "Births", datasets: Datasets, loaders: Loaders, batches: Batches) -> None:
        self._births = births
        self._kinds = births.kinds
        self._graph = births.graph
        self._datasets = datasets
        self._loaders = loaders
        self._batches = batches

    # Births

    def born(self, node: Node) -> None:
        """A value, if it is a part of a loader's batch, or a graph of a data set, that nothing has placed yet."""
        if self._is_of_dataset(node):
            self._add(node, Birth.LOADER, "dataset-item")
            return
        if not self.is_of_batch(node) or self._is_in_graph(node) or not self._comes_from_host(node):
            return
        if self._is_born(node):
            self._add(node, Birth.LOADER, self._link([node]))

    def spread(self) -> None:
        """`step(*batch)`: the parameters of a function that gets nothing but the parts of batches."""
        gotten: dict[Node, list[tuple[Node, object] | None]] = defaultdict(list)
        for call, called in self._births.calls.items():
            for _, parameter in bound(call, called):
                gotten[parameter].append(None)
            for parameter, value, key in spread(call, called):
                gotten[parameter].append((value, key) if self.is_of_batch(value) else None)
        for parameter, all_given in gotten.items():
            given = [one for one in all_given if one is not None]
            if len(given) == len(all_given) and all(self._is_born_as(parameter, *one) for one in given):
                self._add(parameter, Birth.LOADER, self._link([one for one, _ in given]))

    def _link(self, parts: list[Node]) -> str:
        """How it is known that parts of batches are on the host: by loaders that make them so, or by less."""
        loaders = [_iterable(one, self._kinds) for one in parts]
        if any(map(self._loaders.collates_elsewhere, loaders)):
            return "collated-elsewhere"
        surely = all(self._kinds.says_surely(one, Kind.LOADER) for one in loaders)
        return "loader-item" if surely else "named-loader"

    def _is_born_as(self, parameter: Node, batch: Node, key: object) -> bool:
        """Whether a part of a batch that a parameter gets is a tensor that nothing has placed yet."""
        iterable = _iterable(batch, self._kinds)
        return (
            self._kinds.of(parameter) in {None, Kind.TENSOR}
            and self._comes_from_host(parameter)
            and self._comes_from_host(batch)
            and not (self._is_refilled(batch) or batch in self.replaced or self._comes_placed(batch))
            and not (self._batches.is_placed(iterable, key) or self._batches.is_plain(iterable, key))
            and not self._datasets.stays(iterable, key)
        )

    def _is_of_dataset(self, node: Node) -> bool:
        """Whether a value is a graph that its data set gives on the host."""
        return (
            node in self._kinds.data_graphs
            and not self.is_of_batch(node)
            and not self._moves_graphs
            and not self._births.defaults.are_set
            and self._comes_from_host(node)
        )

    def _is_in_graph(self, node: Node) -> bool:
        """Whether a value is a part of a graph that is moved as a whole if at all: it is where its graph is."""
        if node.op not in _PARTS or node.args[0] not in self._kinds.data_graphs:
            return False
        beside = (one for one in self._births.module.users.get(node.args[0], ()) if one.op in _PARTS)
        return not any(self._births.moves_of(one) for one in beside)

    @cached_property
    def _moves_graphs(self) -> bool:
        return moves_graphs(self._births.module)

    def beside_moved(self, node: Node, base: Node | None, link: str = "unpacked-beside-moved") -> None:
        """What is moved was on the host, and so was what came with it."""
        sources = self._graph.sources
        own = sources.get(node, [])
        if any(one.links in _BY_LOADER for one in own):  # two say it: a loader, and the move
            sources[node] = [replace(one, links=("item-beside-moved",)) for one in own]
            return
        if any(one.links in _WEAK for one in own):  # as do its standing beside a move, and what is told now
            sources[node] = [replace(one, links=(link,)) if one.links in _WEAK else one for one in own]
            return
        if self._comes_placed(node) or self._is_iterator(node) or has_no_move(node) or self._is_container(node):
            return
        if is_plain(node) or (is_function(node) and not self._kinds.is_module(node)):
            return
        if self._is_object(node):
            link = "object-beside-moved"
        known = [*(sources.get(base, ()) if base is not None else ()), *own]
        if (
            not (self._comes_from_host(node) or self._is_outside_of_classes(node) or self._is_of_own_loop(node))
            or self._is_refilled(node)
            or (self.is_of_batch(node) and self._stays(node))
            or self._comes_otherwise(node)
        ):
            return
        if all(one.place == CALLER for one in known):
            self._add(node, Birth.SIBLING, link)

    def _is_object(self, node: Node) -> bool:
        """Whether a value is asked for what no tensor has, and is neither a graph nor anything else that is known."""
        unknown = self._kinds.of(node) in {None, Kind.TENSOR} and node not in self._kinds.data_graphs
        return unknown and is_asked_as_object(node)

    def _is_container(self, node: Node) -> bool:
        """Whether all that a value may be, whatever callers of this file give, is a plain list or dictionary."""
        made = [one for one in self._births.origins.made(node) if not is_none(one)]
        return bool(made) and all(map(is_container, made))

    def _is_iterator(self, node: Node) -> bool:
        """Whether a value is what a generator of this file gives, or is asked for the next one."""
        called = self._births.calls.get(node)
        users = self._births.module.users.get(node, ())
        return (called is not None and called.yields) or any(calls_builtin(one, "next") for one in users)

    def _add(self, node: Node, birth: Birth, link: str) -> None:
        doubt = self._doubt(node)
        said = link if doubt is None else min(doubt, link, key=STRENGTHS.__getitem__)
        self._graph.add(Source(node, HOST, birth, (said,)))

    def _doubt(self, node: Node) -> str | None:
        """What the name of a value says against its being a tensor of the device, where nothing shows that it is."""
        if sounds_like_text(node):
            return "named-as-text" if self._kinds.of(node) is not Kind.TENSOR else None
        if not sounds_otherwise(node):
            return None
        if not sounds_like_number(node):
            return "named-otherwise"
        if self._kinds.of(node) is Kind.TENSOR:
            return None
        return "named-as-number-for-module" if self._is_for_module(node) else "named-otherwise"

    def _is_for_module(self, node: Node) -> bool:
        """Whether a module, or a loss, gets a value, as it gets few that are no tensors."""
        calls = (one for one in self._births.module.users.get(node, ()) if one.op is Op.CALL and node in one.args[1:])
        return any(self._kinds.of(one.args[0]) is Kind.MODULE for one in calls)

    def _is_born(self, node: Node) -> bool:
        if self._is_refilled(node) or node in self.replaced or holds_mappings(node) or has_no_move(node):
            return False
        if self._gives_what_is_moved(node):
            return False
        known = self._kinds.of(node) in {None, Kind.TENSOR, Kind.ENCODING, Kind.MAPPING}
        return known and not self._comes_otherwise(node) and not self._stays(node) and not self._comes_placed(node)

    def _gives_what_is_moved(self, node: Node) -> bool:
        """`for x, y in folds[0]: x.to(device)`: what is only gone through is as little a tensor as a loader is, where
        the program moves what it gives one by one."""
        users = self._births.module.users
        given = list(users.get(node, ()))
        if any(one.op is not Op.ITER for one in given):
            return False
        given += [part for one in given for part in users.get(one, ()) if part.op is Op.ITEM]
        asked = [each for one in given for each in users.get(one, ()) if each.op is Op.ATTR]
        pinned = [call for one in asked if one.extra == "pin_memory" for call in users.get(one, ())]
        asked += [each for call in pinned for each in users.get(call, ()) if each.op is Op.ATTR]
        return any(one.extra in _MOVING for one in asked)

    # Where batches come from

    def is_of_batch(self, node: Node) -> bool:
        """Whether a value is a loader's batch, or a part of one that is no tensor itself."""
        if node.op is Op.ATTR and (self._kinds.of(node.args[0]) is Kind.LOADER or is_plain(node)):
            return False  # `loader.dataset`, of which only parts are tensors; `batch[0].shape`
        base = _iterable(node, self._kinds) if node.op in _TAKEN else node
        if base is node or self._kinds.of(base) is not Kind.LOADER:
            return False
        return not _is_of_own_data(node, base) or self._kinds.of(node) is Kind.TENSOR

    def _comes_from_host(self, node: Node) -> bool:
        """Whether no framework places what the function of a value is given: none, or only to methods of its classes,
        and this is a function that moves a model itself."""
        if self._births.defaults.managed and not (
            self._is_outside_of_classes(node) and self._moves_model(node.function)
        ):
            return False
        return not self._births.imported.is_managed(node.function.owner)

    def _moves_model(self, function: Function) -> bool:
        moves = (one for one in function.nodes if one in self._births.moves and self._births.is_elsewhere(one))
        return any(self._kinds.is_module(root) for one in moves for root in self._births.roots(one))

    def _is_outside_of_classes(self, node: Node) -> bool:
        """Whether the frameworks of a file place only what they give to methods of their classes, and this is none."""
        others = libraries.MANAGING - libraries.MANAGING_METHODS
        return node.function.owner is None and not self._births.defaults.imports(others)

    def _is_of_own_loop(self, node: Node) -> bool:
        """Whether a value comes from a loop of a function over what that got for itself: Lightning places only what it
        gives to methods."""
        loop = whole(node, _PARTS)
        placing = libraries.MANAGING - libraries.LIGHTNING
        return loop.op is Op.ITER and not (self._births.defaults.imports(placing) or _is_given(loop.args[0]))

    def _stays(self, node: Node) -> bool:
        """Whether the data set of a loader has placed a part of a batch, or gives a text, or a dictionary, there."""
        loader = _iterable(node, self._kinds)
        if node.op is Op.ITER and self._datasets.gives_dictionaries(loader):
            return True
        return self._datasets.stays(loader, _index(node))

    def _comes_placed(self, node: Node) -> bool:
        """Whether a part of a batch is no tensor, or may be on a device before it is read."""
        if (
            is_no_tensor(node, node.guard)
            or self._loaders.is_no_tensor(node)
            or self._loaders.is_placed_in_place(node)
            or self._births.defaults.are_set
            or self._is_given_placed(node)
            or not self._placed_elsewhere.isdisjoint({node, *choices(whole(node, _PARTS))})
        ):
            return True
        return self._loaders.may_place(_iterable(node, self._kinds))

    @cached_property
    def _placed_elsewhere(self) -> set[Node]:
        return set(placed_elsewhere(self._births))

    def _is_given_placed(self, node: Node) -> bool:
        """Whether all callers put on a device what a function gets, of which a value is a part."""
        base = whole(node, {Op.ITEM, Op.ITER})
        given = self._kinds.given.get(base, ()) if base.op is Op.PARAM else ()
        return bool(given) and all(self._is_put_elsewhere(one) for one in given)

    def _is_put_elsewhere(self, value: Node) -> bool:
        if value.op is Op.SEQUENCE and value.args:
            return all(map(self._is_put_elsewhere, value.args))
        return value in self._births.moves and self._births.is_elsewhere(value)

    def _comes_otherwise(self, node: Node) -> bool:
        """Whether what makes the elements of an iterable puts a part of them on a device, or makes numbers of it."""
        iterable = _iterable(node, self._kinds)
        if iterable is node:
            return False
        key = node.extra if node.op is Op.ITEM and node.args[0].op is not Op.ITEM else None
        return self._batches.is_placed(iterable, key) or (key is not None and self._batches.is_plain(iterable, key))

    # What the program puts into batches

    @cached_property
    def replaced(self) -> set[Node]:
        """The values whose parts are moved where they stand."""
        return replaced(self._births)

    @cached_property
    def _refilling(self) -> list[Store]:
        """`batch[key] = batch[key].to(device)`"""
        return [one for one in self._births.module.stores if not one.is_attribute and self._births.is_move(one.value)]

    @cached_property
    def _refilled(self) -> dict[Node, set[object]]:
        """What is filled with moved values, and under which keys: None for those that are not read."""
        found: dict[Node, set[object]] = {}
        for store in self._refilling:
            base, key = store.base, store.key
            found.setdefault(base, set()).add(key)
            while base.op is Op.ITEM:  # `batch["features"][name] = …` fills `batch` as well
                base, key = base.args[0], base.extra if len(base.args) == 1 else None
                found.setdefault(base, set()).add(key)
        return found

    def refills(self, node: Node) -> Iterator[Node]:
        """The moved values that a part of a batch may be, as the program has put them there before."""
        for store in self._refilling if node.op is Op.ITEM else ():
            if store.base is node.args[0] and store.value.index < node.index and store.key in {None, node.extra}:
                yield store.value

    def _is_refilled(self, node: Node) -> bool:
        """Whether a batch, or what it is a part of, is given moved values under its own keys."""
        if any(_refills_part(one, node) for one in self._refilling):
            return True
        while node not in self._refilled and node.op in {Op.ITEM, Op.ATTR}:
            part, node = node, node.args[0]
            keys = self._refilled.get(node, ())
            if (
                keys
                and part.op is Op.ITEM
                and isinstance(part.extra, str | int)
                and {part.extra, None}.isdisjoint(keys)
            ):
                return False  # other parts are
        return node in self._refilled


def _index(node: Node) -> object:
    """The constant index under which a part is taken out of a batch, None where all of it is meant."""
    return node.extra if node.op is Op.ITEM and len(node.args) == 1 else None


def _is_given(value: Node, depth: int = 0) -> bool:
    """Whether a value is what a function is given, or taken out of that: `batch[0]`, `enumerate(batch)`."""
    if value.op is Op.PARAM or depth > MOST_STEPS:
        return value is not value.function.self_node
    called = value.op is Op.CALL and bool(names(value.args[0]))
    return any(_is_given(one, depth + 1) for one in (value.args[1:] if called else value.args[:1]))


def _iterable(node: Node, kinds: Kinds) -> Node:
    """What a loop, or `next(iter(…))`, takes a value or a part of one from; itself where it is no such part."""
    for _ in range(4):
        if node.op not in _PARTS or kinds.of(node.args[0]) is Kind.TENSOR:
            break
        node = node.args[0]
    if node.op is Op.ITER or calls_builtin(node, "next"):
        node = node.args[-1 if node.op is Op.ITER else 1]
        while gives_elements(node) or node in kinds.gone_through:
            node = kinds.gone_through.get(node) or node.args[1]
    return node


def _is_of_own_data(node: Node, loader: Node) -> bool:
    """`loader.dataset.imgs`: what a loader's data set keeps, be that a list."""
    while node.op in _PARTS and node.args[0] is not loader:
        node = node.args[0]
    return node.op is Op.ATTR and node.extra == "dataset"


def _refills_part(store: Store, node: Node) -> bool:
    """Whether `node` is read from what a loop over its keys has filled with moved values before."""
    if (
        node.op is not Op.ITEM
        or node.args[0] is not store.base
        or store.key is not None
        or node.index < store.value.index
    ):
        return False
    keys = store.index.args[0] if store.index is not None and store.index.op is Op.ITER else None
    if keys is None or keys.op is not Op.SEQUENCE:
        return True
    return any(one.op is not Op.CONST or one.extra == node.extra for one in keys.args)


def link_of_part(part: Node, kinds: Kinds) -> str:
    """How surely a part was on the host as what is moved beside it was: texts and numbers come beside tensors, too."""
    users = kinds.module.users.get(part, ())
    made = is_slice(part) or method_effect(method_name(part) or "") is not None  # `batch["x"].repeat(2, 1)`
    shown = (
        made or kinds.of(part) is Kind.TENSOR or kinds.is_fed(part) or any(does_to_tensor(one, part) for one in users)
    )
    return "unpacked-beside-moved" if shown else "unknown-beside-moved"


def does_to_tensor(user: Node, part: Node) -> bool:
    """`part.float()`, `part[:2]`, `part + 1`: whether something is done with a part that is done with tensors."""
    if user.op is Op.ATTR:
        return method_effect(str(user.extra)) is not None or user.extra in rows.TENSOR_ATTRIBUTES
    return user.op is Op.OPERATION or (user.op is Op.ITEM and user.args[0] is part)


_BY_LOADER = {("named-loader",), ("collated-elsewhere",)}
"""What is known of a part by its loader alone, where that may have placed it, or be none."""
_WEAK = (("parameter-beside-moved",), ("unknown-beside-moved",))
"""What is known of a parameter beside the only one that is moved, and of what may be no tensor."""
_PARTS = frozenset({Op.ITEM, Op.ATTR})
MOST_STEPS = 10
"""Through how many values what a loop goes through is followed."""
_TAKEN = _PARTS | {Op.ITER, Op.CALL}
"""What may be taken out of something, `next(batches)` included."""
CALLER = Place(Where.CALLER)
_MOVING = frozenset({"to", "cuda"})
