"""Devices that a function is told, or asks for, and that not all gets which it makes."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind, canonical, effect, method_effect
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.arguments import is_none, is_optional, keyword
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
        self._users: dict[Node, list[Node]] = defaultdict(list)
        for node in births.module.nodes():
            for one in node.args:
                self._users[one].append(node)

    def all(self) -> None:
        self._together()
        for function in self._births.module.functions:
            if not isinstance(function.syntax, ast.Lambda | ast.Module):
                self._unused(function)
                self._typed(function)

    # Devices that nothing uses

    def _unused(self, function: Function) -> None:
        """A function that is told a device, or asks for one, and does not use it, forgot what it makes."""
        told = list(self._left_over(function))
        made = [one for one in self._graph.sources if one.function is function and self._is_made(one)]
        if len(told) != 1 or (told[0].op is Op.PARAM and any(self._is_handed_on(one) for one in made)):
            return  # what it makes is for others to place, and what meets that as well
        for node in made:
            if node not in self._births.exchanged and not self._is_moved_further(node):
                self._births.wanted_at(told[0])
                self._graph.supports(node, told[0], "unused-device", node.guard)

    def _left_over(self, function: Function) -> Iterator[Node]:
        """The devices that a function knows by a name at its end, and has done nothing with."""
        for named, value in function.finals.items():
            if (
                isinstance(named, str)
                and "device" in named
                and value.function is function
                and not self._is_used(value)
                and self._kinds.of(value) in {None, Kind.DEVICE, Kind.NUMBER}
                and not is_optional(value)
                and (value.op is Op.PARAM or self._is_asked(value))
            ):
                yield value

    def _is_used(self, value: Node) -> bool:
        """Whether anything is done with a value but to unpack it: `n, device = len(x), x.device`."""
        users = [one for one in self._users[value] if one.op is not Op.SEQUENCE or self._users[one]]
        return value in self._births.used and bool(users or not self._users[value])

    def _is_asked(self, value: Node) -> bool:
        """`x.device`, also where it stands in for what no caller gives: `if device is None: device = x.device`."""
        ways = value.args if value.op is Op.PHI else (value,)
        return any(one.op is Op.ATTR and one.extra == "device" for one in ways) and all(
            one.op is Op.PARAM or self._kinds.of(one) is Kind.DEVICE for one in ways
        )

    def _is_made(self, node: Node) -> bool:
        return any(one.birth in _TENSORS for one in self._graph.sources[node])

    def _is_handed_on(self, made: Node) -> bool:
        """Whether a call that is not read gets a value, or what holds it, or tensors are put into it."""
        users = list(self._users[made])
        for one in users:  # grows
            if one.op in _HOLDING:
                users += (each for each in self._users[one] if each not in users)
        itself = {made, *(one for one in users if one.op in {Op.PHI, Op.AFTER})}
        filled = any(
            store.base in itself and not self._is_number(store.value)
            for store in made.function.stores
            if not store.is_attribute
        )
        return filled or any(
            one.op is Op.CALL
            and one not in self._births.calls
            and not any(effect(canonical(each)) is not None for each in names(one.args[0]))
            and (one.args[0].op is not Op.ATTR or method_effect(str(one.args[0].extra)) is None)
            and one.args[0] is not made
            for one in users
        )

    def _is_number(self, node: Node, depth: int = 0) -> bool:
        """Whether a value is computed of numbers, and of parameters of which nothing is known."""
        if self._kinds.of(node) is Kind.NUMBER:
            return True
        if node.op is Op.OPERATION and depth < MOST_STEPS:
            return all(self._is_number(one, depth + 1) for one in node.args)
        return node.op is Op.PARAM and depth > 0 and self._kinds.of(node) is None

    # Devices that others get

    def _typed(self, function: Function) -> None:
        """A function that is told a device and a dtype, and gives what it makes the dtype alone, forgot the device."""
        device, dtype = function.parameters.get("device"), function.parameters.get("dtype")
        if device is None or dtype is None or any(self._births.moves_of(one) for one in (device, dtype)):
            return
        for node in [one for one in self._graph.sources if one.function is function and self._is_made(one)]:
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
            for one in members if beside else ():
                supports(self._graph, one, {each: [each] for each in beside or ()}, "factories")

    def _placed_again(self) -> Iterator[Node]:
        """What factories get that are told a device: `torch.as_tensor(rows, device=device)`."""
        for node in self._births.moves:
            if node.op is Op.CALL and self._births.has_device(node):
                for one in node.args[1:2]:
                    yield from self._births.roots(one)

    def _is_moved_further(self, made: Node) -> bool:
        """Whether a value is moved, or what is computed of it."""
        pending = [made]
        for one in pending:  # grows
            if self._births.moves_of(one) or self._births.is_move(one):
                return True
            if len(pending) < MOST_STEPS:
                pending += (each for each in self._goes_into(one) if each not in pending)
        return False

    def _goes_into(self, node: Node) -> Iterator[Node]:
        for user in self._users[node]:
            if user.op in {Op.OPERATION, Op.PHI, Op.AFTER, Op.ITEM, Op.CALL, Op.ATTR} and not is_none(user):
                yield user


_TENSORS = frozenset({Birth.FACTORY, Birth.ARRAY})
_HOLDING = frozenset({Op.PHI, Op.AFTER, Op.SEQUENCE, Op.MAPPING, Op.COMPREHENSION})
