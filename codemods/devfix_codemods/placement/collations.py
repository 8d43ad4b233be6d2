"""Collate functions: which ones a loader uses, and which parts of their batches are lists and no tensors."""

import re
from collections import defaultdict
from collections.abc import Iterator, Set
from functools import cached_property
from typing import TYPE_CHECKING

from devfix_codemods.catalogue.libraries import COLLATING_ON_HOST
from devfix_codemods.ir import Class, Function, Module, Node, Op
from devfix_codemods.ir.items import part_of
from devfix_codemods.ir.keys import name, names, resolved
from devfix_codemods.placement.arguments import calls_builtin, keyword
from devfix_codemods.placement.calls import collate_function, method
from devfix_codemods.placement.kinds import Kinds

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

_COLLATES = re.compile(r"(?i)collat")
"""In the name of a function or a class: it puts batches together, even where no loader in sight takes it."""


class Collations:
    """The collate functions of one file and of those that it imports its data from.

    Any of them may make the batches of a loader whose own `collate_fn` the analysis cannot see.
    """

    def __init__(self, births: "Births") -> None:
        self._kinds = births.kinds
        self._module = births.module
        self._imported = births.imported

    def of(self, loader: Node) -> Iterator[Function]:
        """The functions of this file that put the batches of a loader together.

        They are given as `collate_fn=self.collate`, or assigned later: `loader.collate_fn = collate`.
        """
        for one in self._given(loader):
            yield from run_by_calling(one, self._kinds)

    def is_unread(self, loader: Node) -> bool:
        """Whether a loader is given what an import brings that cannot be read: that may place the batches."""
        called = (one for value in self._given(loader) for one in _called(value))
        return any(_is_imported(one) and not any(run_by_calling(one, self._kinds)) for one in called)

    def _given(self, loader: Node) -> Iterator[Node]:
        """What a loader is told to put its batches together with."""
        given = keyword(loader, "collate_fn") if loader.op is Op.CALL else None
        yield from self._assigned.get(self._kinds.find(loader), ())
        yield from (given,) if given is not None else ()

    @cached_property
    def _assigned(self) -> dict[Node, list[Node]]:
        """By loader: the values that are assigned to its `collate_fn` after it was made."""
        found: dict[Node, list[Node]] = defaultdict(list)
        for store in self._module.stores:
            if store.is_attribute and store.key == "collate_fn":
                found[self._kinds.find(store.base)].append(store.value)
        return found

    def is_list(self, part: Node) -> bool:
        """Whether a collate function surely gives a list, a tuple or an array as a part of a batch: no tensor."""
        if part.op is Op.ITEM and isinstance(part.extra, str):
            return any(map(_is_list, self._under(part.extra, _keys_beside(part))))
        count = _count_of_parts(part)
        return count > 0 and any(map(_is_list, self._returned(part.extra, count)))

    def _under(self, key: str, asked: Set[str]) -> Iterator[Node]:
        """What collate functions return under a key, of those that return all that is `asked` of the batch."""
        for function in self._functions if len(asked) > 1 else ():
            for value, _ in function.returns:
                if value.op is Op.MAPPING and asked <= set(value.extras):
                    yield from filter(None, (part_of(value, key),))

    def _returned(self, index: object, count: int) -> Iterator[Node]:
        """What collate functions return at `index`, of those that return `count` parts.

        The loader is unknown, so the number of parts is all that tells which collate function made the batch.
        """
        for function in self._functions:
            for value, _ in function.returns:
                if value.op is Op.SEQUENCE and isinstance(index, int) and index < len(value.args) == count:
                    yield value.args[index]

    @cached_property
    def _functions(self) -> list[Function]:
        return [one for module in (self._module, *self._imported.collating) for one in _collate_functions(module)]


def run_by_calling(value: Node, kinds: Kinds) -> Iterator[Function]:
    """The functions that a call of `value` may run: of a partial, a bound method or an object, or one of several."""
    for one in _called(value):
        found = kinds.imported.definition(one)
        called = found if isinstance(found, Function) else _method_called(one, kinds)
        yield from (called,) if called is not None else ()


def _called(value: Node) -> Iterator[Node]:
    """What a call of `value` may call in the end."""
    pending = [value]
    for one in map(resolved, pending):  # grows
        if one.op is Op.PHI:
            pending += (each for each in one.args if each not in pending)
        elif one.op is Op.CALL and name(one.args[0]) == "functools.partial":
            pending += one.args[1:2]
        else:
            yield one


def _is_imported(value: Node) -> bool:
    """Whether a value is imported, made by what is, or a method of that, of a package that may place batches."""
    while value.op in {Op.CALL, Op.ATTR} and not names(value):
        value = resolved(value.args[0])
    return any(not one.startswith(COLLATING_ON_HOST) for one in names(value))


def _method_called(value: Node, kinds: Kinds) -> Function | None:
    """The method that a call of a value runs that is a method itself, or an object."""
    is_bound = value.op is Op.ATTR
    owner = kinds.class_of(value.args[0] if is_bound else value)
    if owner is None and value.op is Op.CALL:
        made = kinds.imported.definition(value.args[0])
        owner = made if isinstance(made, Class) else None
    return method(owner, str(value.extra) if is_bound else "__call__") if owner is not None else None


def _collate_functions(module: Module) -> Iterator[Function]:
    """The functions that are named so, `__call__` of classes that are, and what loaders get as `collate_fn`."""
    given = {collate_function(node) for node in module.of(Op.CALL)}
    for one in module.functions:
        called = one.owner is not None and one.name == "__call__" and _COLLATES.search(one.owner.name)
        if called or one in given or _COLLATES.search(one.name):
            yield one


def _count_of_parts(part: Node) -> int:
    """How many parts a batch is unpacked into, where `part` is one of them; 0 where it is not."""
    if part.op is not Op.ITEM or not isinstance(part.extra, int):
        return 0
    taken = [one.extra for one in part.function.nodes if one.op is Op.ITEM and one.args[0] is part.args[0]]
    return 1 + max((one for one in taken if isinstance(one, int)), default=0)


def _keys_beside(part: Node) -> Set[str]:
    """The keys under which a function reads parts of a batch."""
    read = (one.extra for one in part.function.nodes if one.op is Op.ITEM and one.args[0] is part.args[0])
    return {one for one in read if isinstance(one, str)}


def _is_list(node: Node) -> bool:
    """Whether a value is a list or an array, whichever path assigned it.

    An operation gives what its operands are: `words + [word]` in a loop is a list because `words` began as one.
    """
    assigned = [one for one in _assigned_values(node) if one.op is not Op.OPERATION]
    return bool(assigned) and all(map(_makes_list, assigned))


def _assigned_values(node: Node) -> set[Node]:
    """The values that the paths to `node` assign: where branches join, and loops run into each other, those of all."""
    found: set[Node] = set()
    pending = [node]
    while pending:
        one = pending.pop()
        if one in found:
            continue
        found.add(one)
        if one.op is Op.PHI:
            pending += one.args
        elif one.op is Op.AFTER:
            pending.append(one.args[0])
    return {one for one in found if one.op not in {Op.PHI, Op.AFTER}}


def _makes_list(node: Node) -> bool:
    """A list, a tuple, a column of `zip(*batch)`, an array of numpy."""
    if node.op is Op.ITEM and len(node.args) == 1:
        whole = node.args[0]
        return calls_builtin(whole, "zip") or (whole.op is Op.COMPREHENSION and _makes_list(whole.args[0]))
    if node.op is Op.CALL:
        made = name(node.args[0]) or ""
        return made.startswith("numpy.") or calls_builtin(node, "list", "tuple", "sorted", "len")
    return node.op in {Op.SEQUENCE, Op.COMPREHENSION} and node.extra != "dict"
