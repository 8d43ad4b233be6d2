"""Collate functions: those of a loader, and what they, and those of the files that data comes from, give as the parts
of batches."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from devfix_codemods.ir import Function, Module, Node, Op
from devfix_codemods.ir.keys import name, resolved
from devfix_codemods.placement.arguments import calls_builtin, keyword
from devfix_codemods.placement.calls import collate_function, function_of, method

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


class Collations:
    """The collate functions in sight of one file: any of them may make the batches of a loader that is not read."""

    def __init__(self, births: "Births") -> None:
        self._kinds = births.kinds
        self._module = births.module
        self._imported = births.imported

    def of(self, loader: Node) -> Iterator[Function]:
        """The functions of this file that put the batches of a loader together: `collate_fn=self.collate`, or
        `loader.collate_fn = collate`."""
        given = keyword(loader, "collate_fn") if loader.op is Op.CALL else None
        for one in (*self._assigned.get(self._kinds.find(loader), ()), *((given,) if given is not None else ())):
            if (found := self._function(resolved(one))) is not None:
                yield found

    @cached_property
    def _assigned(self) -> dict[Node, list[Node]]:
        """The values that loaders get as their `collate_fn` behind their making."""
        found: dict[Node, list[Node]] = defaultdict(list)
        for store in (one for function in self._module.functions for one in function.stores):
            if store.is_attribute and store.key == "collate_fn":
                found[self._kinds.find(store.base)].append(store.value)
        return found

    def _function(self, value: Node) -> Function | None:
        """A function, `functools.partial` of one, a bound method, or an object that is called."""
        if value.op is Op.CALL and name(value.args[0]) == "functools.partial" and len(value.args) > 1:
            return self._function(resolved(value.args[1]))
        if (found := function_of(value)) is not None:
            return found
        bound = value.op is Op.ATTR
        owner = self._kinds.class_of(value.args[0] if bound else value)
        return method(owner, str(value.extra) if bound else "__call__") if owner is not None else None

    def is_list(self, part: Node) -> bool:
        """Whether a collate function surely gives a list, a tuple or an array as a part of a batch: no tensor."""
        count = _count(part)
        return count > 0 and any(map(_is_list, self._parts(part.extra, count)))

    def _parts(self, key: object, count: int) -> Iterator[Node]:
        """What stands under a key in the batches of `count` parts."""
        for function in self._functions:
            for value, _ in function.returns:
                if value.op is Op.SEQUENCE and isinstance(key, int) and key < len(value.args) == count:
                    yield value.args[key]

    @cached_property
    def _functions(self) -> list[Function]:
        return [one for module in (self._module, *self._imported.collating) for one in _collate_functions(module)]


def _collate_functions(module: Module) -> Iterator[Function]:
    """What is called so, the call of a class that is, and what a loader gets as its `collate_fn`."""
    given = {collate_function(node) for node in module.of(Op.CALL)}
    for one in module.functions:
        called = one.owner is not None and one.name == "__call__" and _COLLATES.search(one.owner.name)
        if called or one in given or _COLLATES.search(one.name):
            yield one


def _count(part: Node) -> int:
    """How many parts a batch is taken apart into; 0 where it is not."""
    if part.op is not Op.ITEM or not isinstance(part.extra, int):
        return 0
    taken = [one.extra for one in part.function.nodes if one.op is Op.ITEM and one.args[0] is part.args[0]]
    return 1 + max((one for one in taken if isinstance(one, int)), default=0)


def _is_list(node: Node) -> bool:
    """A list, a tuple, a column of `zip(*batch)`, an array of numpy."""
    if node.op is Op.AFTER:
        return _is_list(node.args[0])
    if node.op is Op.PHI:
        return all(one is node or _is_list(one) or one.op is Op.OPERATION for one in node.args)
    if node.op is Op.ITEM and len(node.args) == 1:
        return calls_builtin(node.args[0], "zip", "map")
    if node.op is Op.CALL:
        made = name(node.args[0]) or ""
        return made.startswith("numpy.") or calls_builtin(node, "list", "tuple", "sorted", "len")
    return node.op in {Op.SEQUENCE, Op.COMPREHENSION} and node.extra != "dict"


_COLLATES = re.compile(r"(?i)collat")
