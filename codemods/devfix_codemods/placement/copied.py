"""Copies of modules, and of their weights, that are taken before the module is moved: they stay behind."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import method_name, name
from devfix_codemods.placement.calls import bound
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.places import HOST
from devfix_codemods.placement.roots import DEEPCOPY

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Early:
    """A `call` that copies a module, or hands it to a function that does, in the function that moves it afterwards."""

    call: Node
    module: Node
    birth: Source


def copied(births: "Births") -> None:
    """Add the copies that stay behind to the graph, each born where it is taken."""
    for call in births.module.of(Op.CALL):
        if name(call.args[0]) == DEEPCOPY and births.kinds.is_module(call) and len(call.args) > 1:
            if found := _early(births, call, call.args[1]):
                births.graph.add(Source(call, HOST, Birth.MODULE, found[0].birth.links))
                births.copied[call] = found
        elif method_name(call) == "clone" and (found := _early(births, call, call.args[0].args[0])):
            births.graph.add(Source(call, HOST, Birth.ARRAY, ("array-made",)))
            births.copied[call] = found


def _early(births: "Births", call: Node, part: Node, deepest: int = DEEPEST) -> list[Early]:
    """The calls by which a copy is taken of modules that are moved afterwards; none where any may be moved by then."""
    module = _whole(part)
    if any(births.is_move(one) or one in births.moved_in_place for one in births.way(module)):
        return []
    found: list[list[Early]] = []
    for root in births.roots(module):
        if root.op is Op.PARAM and births.kinds.is_given(root) and deepest > 0:
            sites = births.kinds.all_calls(root.function)
            given = (
                (site, one) for site in sites for one, parameter in bound(site, root.function) if parameter is root
            )
            found += [_early(births, site, one, deepest - 1) for site, one in given]
        elif births.moves_of(root) and root.function is call.function:
            found.append([Early(call, module, one) for one in _made(births, root)])
    return [early for each in found for early in each] if all(found) else []


def _made(births: "Births", module: Node) -> Iterator[Source]:
    """The births of a module on the host; what a function of this file makes and moves not is born in there."""
    called = births.calls.get(module)
    given = [root for value, _ in called.returns for root in births.roots(value)] if called is not None else []
    for one in (module, *given):
        if one is module or not births.moves_of(one):
            yield from (each for each in births.graph.sources.get(one, ()) if each.birth is Birth.MODULE)


def _whole(part: Node) -> Node:
    """The module of `p.detach()` for `p` of its parameters."""
    while part.op in _TAKING or (part.op is Op.CALL and part.args[0].op is Op.ATTR and part.args[0].extra in _GIVING):
        part = part.args[0].args[0] if part.op is Op.CALL else part.args[0]
    return part


_TAKING = frozenset({Op.ITER, Op.ITEM, Op.ATTR})
_GIVING = frozenset({"items", "values", "detach", "float", *rows.STATES})
"""Methods that give what they are called on, or the values in it."""
