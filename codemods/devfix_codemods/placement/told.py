"""Devices that a function is told, and that not all gets which it makes."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.arguments import keyword
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.together import supports

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

MOST_STEPS = 20


class Told:
    """Adds what the devices at hand say of the factories of one file to its graph."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._graph = births.graph
        self._kinds = births.kinds
        self._users = births.module.users

    def all(self) -> None:
        self._together()
        for function in self._births.module.functions:
            if not isinstance(function.syntax, ast.Lambda | ast.Module):
                self._typed(function)

    def _typed(self, function: Function) -> None:
        """A function that is told a device and a dtype, and gives what it makes the dtype alone, forgot the device."""
        device, dtype = function.parameters.get("device"), function.parameters.get("dtype")
        if device is None or dtype is None or any(self._births.moves_of(one) for one in (device, dtype)):
            return
        for node in [one for one in self._graph.sources if one.function is function and self._graph.is_made(one)]:
            given = keyword(node, "dtype") if node.op is Op.CALL else None
            if given is dtype and not self._is_moved_further(node):
                self._births.wanted_at(device)
                self._graph.supports(node, device, "typed-beside-device", node.guard)

    def _together(self) -> None:
        """Factories of one function, some of which are told a device."""
        told: dict[Function, list[Node]] = defaultdict(list)
        bare: dict[Function, list[Node]] = defaultdict(list)
        placed = set(self._placed_again())
        for node, sources in self._graph.sources.items():
            made = any(one.birth is Birth.FACTORY for one in sources)
            if made and node not in placed and not self._births.moves_of(node):
                bare[node.function].append(node)
        for node, place in self._births.moves.items():
            if self._births.has_device(node) and place.where is not Where.HOST:
                told[node.function].append(node)
        for function, members in bare.items():
            beside = told.get(function)
            joined = self._joined(members) if beside else set()
            for one in members if beside else ():
                if one in joined:
                    continue  # moved alone, it would meet the others on the host
                supports(self._graph, one, {each: [each] for each in beside or ()}, "factories")

    def _joined(self, members: list[Node]) -> set[Node]:
        """Those of several values that one function of torch joins: `torch.cartesian_prod(rows, columns)`."""
        joining: dict[Node, set[Node]] = defaultdict(set)
        for one in members:
            for each in self._computed(one):
                found = names(each.args[0]) if each.op is Op.CALL else ()
                if any(effect(canonical(called)) in _JOINING for called in found):
                    joining[each].add(one)
        return {one for row in joining.values() if len(row) > 1 for one in row}

    def _placed_again(self) -> Iterator[Node]:
        """What factories get that are told a device: `torch.as_tensor(rows, device=device)`."""
        for node in self._births.moves:
            if node.op is Op.CALL and self._births.has_device(node):
                for one in node.args[1:2]:
                    yield from self._births.roots(one)

    def _is_moved_further(self, made: Node) -> bool:
        """Whether a value is moved, or what is computed of it."""
        return any(self._births.moves_of(one) or self._births.is_move(one) for one in self._computed(made))

    def _computed(self, made: Node) -> Iterator[Node]:
        """A value, and what is computed of it, as far as a few steps lead."""
        pending = [made]
        for one in pending:  # grows
            yield one
            if len(pending) < MOST_STEPS:
                pending += (each for each in self._users.get(one, ()) if each.op in _INTO and each not in pending)


_INTO = frozenset({Op.OPERATION, Op.PHI, Op.AFTER, Op.ITEM, Op.CALL, Op.ATTR, Op.SEQUENCE})
_JOINING = frozenset({Effect.SEQUENCE, Effect.MEET})
