"""Generators of random numbers, and what is filled from them: both have to be in one place."""

import ast
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from devfix_codemods.assumptions.availability_tests import is_caught
from devfix_codemods.assumptions.index import Index, method
from devfix_codemods.catalogue import Effect, canonical, effect, method_effect
from devfix_codemods.catalogue.torch import HOST_SAMPLING
from devfix_codemods.demands.devices import place_where
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import key, name
from devfix_codemods.placement.arguments import argument, has_device, is_none, keyword
from devfix_codemods.placement.calls import bound
from devfix_codemods.placement.places import HOST, Place, Where, place_of

_DEFAULTS = frozenset({"torch.manual_seed", "torch.default_generator"})
"""What gives the generator of the host, which is there already."""
_TAKING_DEVICES = frozenset({Effect.FACTORY, Effect.LIKE, Effect.DRAW})
_SEEDS = frozenset({"manual_seed", "seed", "initial_seed"})


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """A call that fills something from a generator, and where that is.

    `told` is the device that the call is given; `samples` says that indices are drawn, for a sampler or a split.
    """

    call: Node
    generator: Node
    place: Place
    told: Node | None
    samples: bool

    @property
    def syntax(self) -> ast.Call:
        assert isinstance(self.call.syntax, ast.Call)
        return self.call.syntax


class Draws:
    """What one file draws, but for where all of it is on the host."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._kinds = index.analysis.kinds
        hosted = index.analysis.graph.host_only
        calls = [call for call in index.calls if hosted.isdisjoint(call.guard)]
        self.all = [one for call in calls if (one := self._draw(call)) is not None]
        self.all += [one for call in calls for one in self._inside(call)]
        self.of: dict[Node, list[Draw]] = {}
        """Each call that makes a generator, and what is drawn with that."""
        for draw in self.all:
            for made in self.makers(draw.generator):
                self.of.setdefault(made, []).append(draw)

    def makers(self, generator: Node) -> list[Node]:
        """The calls that make a generator; none where it may also be another one, but for what a caller may give."""
        found: list[Node] = []
        pending = list(self._index.origins.of(generator))
        for one in pending:  # grows by what was seeded and given back
            if is_generator(one) or name(one if one.op is not Op.CALL else one.args[0]) in _DEFAULTS:
                found.append(one)
            elif method(one) == "manual_seed":
                origins = self._index.origins.of(one.args[0].args[0])
                pending += [each for each in origins if each not in pending]
            elif not is_none(one) and not (one.op is Op.PARAM and one.function is generator.function):
                return []
        return found

    def place(self, made: Node) -> Place | None:
        """Where a generator is: on the host where it is told nothing, whatever the default device."""
        device = made.args[1] if is_generator(made) and len(made.args) > 1 else None
        found = place_of(device, self._kinds) if device is not None else HOST
        return found if found is None or found.sure else None

    def serves_only(self, made: Node, draws: list[Draw]) -> bool:
        """Whether a generator is used for nothing but these draws."""
        index, calls = self._index, {one.call for one in draws}
        held = [made]
        for one in held:  # grows
            if index.returned[one] or index.stores[one]:
                return False
            for user in index.users[one]:
                if user.op is Op.ATTR and user.extra in _SEEDS:
                    held += (each for each in index.users[user] if each not in held)
                elif user.op in {Op.AFTER, Op.PHI}:
                    held += (user,) if user not in held else ()
                elif user not in calls:
                    return False
        known = set(held)
        read = [one for one in index.nodes.values() if one.op is Op.GLOBAL]
        return all(one.function.module.top.finals.get(str(one.extra)) not in known for one in read)

    # What is filled

    def _draw(self, call: Node) -> Draw | None:
        generator = keyword(call, "generator")
        if generator is None or is_none(generator) or is_caught(self._index, call) or _asks_for_device(call, generator):
            return None
        qualified, told = canonical(name(call.args[0]) or ""), keyword(call, "device")
        weighted = self._weighted(call, qualified)
        if weighted is not None:
            return Draw(call, generator, weighted, told, samples=False) if weighted.sure else None
        samples = qualified in HOST_SAMPLING
        place = self._filled(call, qualified, told, samples)
        if place is not None and place.where is Where.FOLLOWS and place.node is not None:
            own = key(place.node) == key(generator)
            place = None if own else place_where(self._index, place.node, call)
        return Draw(call, generator, place, told, samples) if place is not None and place.sure else None

    def _weighted(self, call: Node, qualified: str) -> Place | None:
        """Where a sampler draws by weights that are not on the host; None where it draws there, as others do."""
        weights = argument(call, 0, "weights") if qualified.endswith(".WeightedRandomSampler") else None
        place = place_where(self._index, weights, call) if weights is not None else None
        return place if place != HOST else None

    def _inside(self, call: Node) -> Iterator[Draw]:
        """What a function of another file draws from a generator that it is given, for a device that it is given, or
        that it spells out."""
        called = self._kinds.imported.definition(call.args[0])
        if not isinstance(called, Function) or called.module is call.function.module:
            return
        given = {parameter: argument for argument, parameter in bound(call, called)}
        for node in called.nodes:
            generator, told = (keyword(node, word) if node.op is Op.CALL else None for word in ("generator", "device"))
            argument = given.get(generator) if generator is not None else None
            device = given.get(told, told) if told is not None and (told in given or told.op is Op.CONST) else None
            makes = effect(canonical(name(node.args[0]) or "")) in _TAKING_DEVICES if argument is not None else False
            place = place_of(device, self._kinds) if device is not None and makes and not node.guard else None
            if argument is not None and place is not None and place.sure:
                yield Draw(call, argument, place, device, samples=False)

    def _filled(self, call: Node, qualified: str, told: Node | None, samples: bool) -> Place | None:
        """Where a call leaves the numbers that it draws."""
        defaults = self._index.analysis.births.defaults
        by_default = None if defaults.are_set else HOST
        if samples:
            return by_default
        row = effect(qualified)
        if told is not None and row in _TAKING_DEVICES:
            of_itself = told.op is Op.ATTR and key(told.args[0]) == key(keyword(call, "generator") or told)
            return place_of(told, self._kinds) if not of_itself else None
        if has_device(call):
            return None
        if row in {Effect.FACTORY, Effect.DRAW} and qualified.startswith("torch."):
            return by_default if not defaults.is_under_device(call) else None
        if row in {Effect.LIKE, Effect.SAME} and len(call.args) > 1:
            return Place(Where.FOLLOWS, call.args[1])
        fills = method(call)
        if fills is not None and method_effect(fills) is Effect.SAME:
            return Place(Where.FOLLOWS, call.args[0].args[0])
        return None


def _asks_for_device(call: Node, generator: Node) -> bool:
    """Whether a test of the generator's device stands before a call: it is made where that fits."""
    asked = ("attr", key(generator), "device")
    pending: list[Hashable] = [atom for atom, _ in call.guard]
    for one in pending:  # grows
        if one == asked:
            return True
        pending += one if isinstance(one, tuple | frozenset) else ()
    return False


def is_generator(node: Node) -> bool:
    """`torch.Generator()`"""
    return node.op is Op.CALL and canonical(name(node.args[0]) or "") == "torch.Generator"


def is_bare_factory(draw: Draw) -> bool:
    """Whether a call makes what it fills, and may be told a device."""
    row = effect(canonical(name(draw.call.args[0]) or ""))
    return row in {Effect.FACTORY, Effect.DRAW} and not {"device", "out", "**"}.intersection(map(str, draw.call.extras))


def moves_behind(index: Index, made: Node) -> Iterator[Node]:
    """The moves of what a call makes; none where that is used for anything else."""
    births = index.analysis.births
    found = [move for one in index.users[made] for move in index.users[one] if move.args[0] is one]
    used = len(found) == len(index.users[made]) and not index.returned[made] and not index.stores[made]
    if used and all(births.is_move(one) and births.is_elsewhere(one) for one in found):
        yield from found
