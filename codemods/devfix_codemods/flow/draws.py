"""Generators of random numbers: where they are made, and what is filled from them."""

import ast

from devfix_codemods.flow import tables
from devfix_codemods.flow.api import Api
from devfix_codemods.flow.facts import Draw, Operand
from devfix_codemods.flow.machine import Arguments
from devfix_codemods.flow.places import HOST, UNKNOWN, Place
from devfix_codemods.flow.state import State
from devfix_codemods.flow.values import Birth, Kind, Origin, Value


class Draws(Api):
    """Evaluates generators, and records what they draw."""

    def generator(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        """`torch.Generator(device)`: on the host where no device is given, whatever the default device."""
        given = arguments.get(0, "device")
        place = self.device_of(*given, state) if given is not None else HOST
        return Value(Kind.GENERATOR, place, Origin(Birth.FACTORY, node))

    def note_draw(self, node: ast.Call, base: Value | None, result: Value, arguments: Arguments, state: State) -> None:
        """Record a call with `generator=`; `base` is the receiver of a method of a tensor."""
        given = arguments.keywords.get("generator")
        if given is None or given[1].kind is not Kind.GENERATOR or given[1].place == UNKNOWN:
            return
        if self.is_meant_to_fail(node):
            return
        name = self.api(node.func) or ""
        samples = name in tables.HOST_SAMPLING
        place = state.place_of(base) if base is not None else self._filled(name, samples, result, arguments, state)
        fact = Draw(node, Operand(*given, given[1].place), place, samples, self.device_names(state), self.frame.context)
        if all((one.node, one.place, one.generator.place) != (node, place, given[1].place) for one in self.facts.draws):
            self.facts.draws.append(fact)

    def _filled(self, name: str, samples: bool, result: Value, arguments: Arguments, state: State) -> Place:
        """Where a function of torch writes the numbers that it draws."""
        if samples:
            return HOST if state.default is None else UNKNOWN
        if not name.startswith("torch."):
            return UNKNOWN
        first = arguments.first
        if name in tables.FACTORIES and first.kind is not Kind.TENSOR:
            return result.place
        return state.place_of(first)
