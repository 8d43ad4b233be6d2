"""Copies of modules, and of their weights, that are taken before the module is moved: they stay behind."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import method_name, name
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.places import HOST
from devfix_codemods.placement.roots import DEEPCOPY

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


def copied(births: "Births") -> None:
    """Add the copies that stay behind to the graph, each born where it is taken."""
    for call in births.module.of(Op.CALL):
        if name(call.args[0]) == DEEPCOPY and births.kinds.is_module(call) and len(call.args) > 1:
            for made in _left(births, call.args[1]):
                births.graph.add(Source(call, HOST, Birth.MODULE, made.links))
                births.copied.add(call)
        elif (module := _home(call)) is not None and any(_left(births, module)):
            births.graph.add(Source(call, HOST, Birth.ARRAY, ("array-made",)))
            births.copied.add(call)


def _left(births: "Births", module: Node) -> Iterator[Source]:
    """The birth of a module on the host that is moved only after this: a copy of it is not."""
    if any(births.is_move(one) or one in births.moved_in_place for one in births.way(module)):
        return
    for root in births.roots(module):
        if births.moves_of(root) and root.function is module.function:
            yield from (one for one in births.graph.sources.get(root, ()) if one.birth is Birth.MODULE)


def _home(clone: Node) -> Node | None:
    """The module of `p.detach().clone()` for `p` of its parameters."""
    if method_name(clone) != "clone":
        return None
    weight = clone.args[0].args[0]
    while weight.op in _TAKING or (weight.op is Op.CALL and weight.args[0].op is Op.ATTR):
        if weight.op is Op.CALL and weight.args[0].extra in rows.STATES:
            return weight.args[0].args[0]
        if weight.op is Op.CALL and weight.args[0].extra not in _GIVING:
            return None
        weight = weight.args[0]
    return None


_TAKING = frozenset({Op.ITER, Op.ITEM, Op.ATTR})
_GIVING = frozenset({"items", "values", "detach", "float"})
"""Methods that give what they are called on, or the values in it."""
