"""What collate functions give as the parts of batches: those of this file, and of those that its data comes from."""

import re
from collections.abc import Iterator
from functools import cached_property

from devfix_codemods.ir import Function, Module, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.arguments import calls_builtin
from devfix_codemods.placement.calls import collate_function
from devfix_codemods.placement.outside import Outside


class Collations:
    """The collate functions in sight of one file: any of them may make the batches of a loader that is not read."""

    def __init__(self, module: Module, outside: Outside) -> None:
        self._module = module
        self._outside = outside

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
        return [one for module in (self._module, *self._outside.collating) for one in _collate_functions(module)]


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
