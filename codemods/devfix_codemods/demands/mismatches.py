"""Generators that draw for another device than their own, and where they, or the numbers, are made instead."""

import ast
from collections.abc import Iterator

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.index import Index
from devfix_codemods.demands.devices import device_of_move, words
from devfix_codemods.demands.generators import Draw, Draws, is_bare_factory, is_generator, moves_behind
from devfix_codemods.edits.operations import Argument, ReplaceExpression, RewriteCall
from devfix_codemods.edits.quotes import unquoted
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key
from devfix_codemods.placement.arguments import is_optional
from devfix_codemods.placement.places import HOST, Place, Where
from devfix_codemods.repairs.conditions import is_accelerator
from devfix_codemods.repairs.cut import with_keyword
from devfix_codemods.repairs.points import Point, before, means_same
from devfix_codemods.repairs.spelling import spelled

_ITS_OWN = "give each device a generator of its own: `torch.Generator(device=…)`"
_BY_DEFAULT = "indices are drawn on the host, but for a program that sets a default device"
_IN_MODULE = "draw on the host, and move the numbers; or make a generator on the device of what it fills"


class Mismatches:
    """The generators of one file that do not fit what they fill."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._analysis = index.analysis
        self._draws = Draws(index)

    def told(self) -> Iterator[Answer]:
        told: set[Node] = set()
        for made, draws in self._draws.of.items():
            wrong = [one for one in draws if self._differ(made, one)]
            if wrong and told.isdisjoint(one.call for one in wrong):
                told.update(one.call for one in wrong)
                yield self._mismatch(made, wrong[0], draws)
        for draw in self._draws.all:
            if draw.call not in told and self._draws_for_caller(draw):
                yield self._noise(draw)

    def _differ(self, made: Node, draw: Draw) -> bool:
        """Whether a generator is surely elsewhere than what it fills, or left behind where a caller's tensor is."""
        own = self._draws.place(made)
        if own is None or len({self._draws.place(one) for one in self._draws.makers(draw.generator)}) > 1:
            return False
        if draw.place.where is Where.CALLER:
            asks = draw.told is not None or self._is_left_behind(draw)
            return own == HOST and asks and not draw.call.function.name.startswith("test")
        return (own == HOST) != (draw.place == HOST)

    def _is_left_behind(self, draw: Draw) -> bool:
        """Whether a module keeps the generator, which no move takes along, and never asks where that is."""
        generator, owner = draw.generator, draw.call.function.owner
        if generator.op is not Op.ATTR or generator.args[0] is not draw.call.function.self_node:
            return False
        of_module = any(owner in set(one.lineage()) for one in self._analysis.kinds.module_classes)
        asked = (one for one in self._index.nodes.values() if one.op is Op.ATTR and one.extra == "device")
        return of_module and all(key(one.args[0]) != key(generator) for one in asked)

    def _mismatch(self, made: Node, draw: Draw, draws: list[Draw]) -> Answer:
        made_at = words(self._index, self._draws.place(made) or HOST, made)
        filled = "indices on the host" if draw.samples else f"numbers {words(self._index, draw.place, draw.call)}"
        kept = draw.place.where is Where.CALLER and self._is_left_behind(draw)
        fix = self._fix(made, draw, draws)
        assert isinstance(made.syntax, ast.expr)
        return Answer(
            draw.syntax,
            f"the generator is {made_at}, but it draws {filled}",
            fix,
            None if fix else _IN_MODULE if kept else _BY_DEFAULT if draw.samples else _ITS_OWN,
            made.syntax,
            (
                (made.syntax, f"the generator is made here, {made_at}"),
                (draw.syntax, f"it draws {filled} here"),
            ),
        )

    # Repairs

    def _fix(self, made: Node, draw: Draw, draws: list[Draw]) -> Fix | None:
        if not is_generator(made):
            return None  # the host's default generator
        if draw.place == HOST and not draw.samples:
            own = self._draws.place(made)  # those that draw there are right
            draws = [one for one in draws if own is None or not self._same(one.place, own)]
        if not all(one.samples is draw.samples and self._same(one.place, draw.place) for one in draws):
            return None
        if draw.samples:
            return self._on_host(made)
        return self._drawn_on_device(draws) if draw.place == HOST else self._made_on_device(made, draw, draws)

    def _same(self, one: Place, other: Place) -> bool:
        """Whether two places are one device, which may have another name in another function."""
        if one.node is None or other.node is None or one.where is not other.where:
            return one == other
        origins = self._index.origins
        return key(one.node) == key(other.node) or set(origins.of(one.node)) == set(origins.of(other.node))

    def _on_host(self, made: Node) -> Fix | None:
        """A sampler's generator; a device that is chosen for generators alone is that of a default, set elsewhere."""
        syntax, device = made.syntax, made.args[1]
        assert isinstance(syntax, ast.Call)
        local = device.op not in {Op.PARAM, Op.CONST, Op.GLOBAL} and device.function.parent is not None
        if local and all(map(is_generator, self._index.users[device])):
            return None
        edit = ReplaceExpression(self._index.source.span(syntax), f"{self._analysis.text(syntax.func)}()")
        return Fix(Safety.UNSAFE, "Make the generator on the host, where indices are drawn", (edit,))

    def _made_on_device(self, made: Node, draw: Draw, draws: list[Draw]) -> Fix | None:
        """The host's generator is made for the device that it fills."""
        point = before(made)
        device = self._device_at(draw, point) if point is not None and len(made.args) == 1 else None
        if device is None or made.syntax is None:
            return None
        edit = RewriteCall(self._index.source.span(made.syntax), None, (Argument(device, "device"),))
        safety = Safety.SAFE if self._draws.serves_only(made, draws) else Safety.UNSAFE
        return Fix(safety, f"Make the generator on `{unquoted(device)}`, where it draws", (edit,))

    def _device_at(self, draw: Draw, point: Point) -> str | None:
        """What names the device of a draw at a point, where that is reached only if there is such a device."""
        node = draw.place.node
        needs_one = node is None or is_accelerator(self._analysis, node)
        if needs_one and not draw.call.guard <= point.guard:
            return None
        written = draw.told.syntax if draw.told is not None else None
        if isinstance(written, ast.Name | ast.Attribute) and means_same(self._analysis, written, draw.call, point):
            return self._analysis.text(written)
        if draw.place.where is Where.CALLER:
            return None
        return spelled(self._analysis, node, point) if node is not None else '"cuda"'

    def _drawn_on_device(self, draws: list[Draw]) -> Fix | None:
        """Factories draw where the generator lives."""
        if not all(map(is_bare_factory, draws)):
            return None
        devices = {one: self._own_device(one) for one in draws}
        if None in devices.values():
            return None
        edits = tuple(
            with_keyword(self._index.source, one.syntax, text or "", "device") for one, text in devices.items()
        )
        moved = all(any(moves_behind(self._index, one.call)) for one in draws)
        title = f"Draw on `{devices[draws[0]]}`, where the generator lives"
        return Fix(Safety.SAFE if moved else Safety.UNSAFE, title, edits)

    def _own_device(self, draw: Draw) -> str | None:
        """What names the device of a draw's generator, where it draws."""
        generator, point = draw.generator, before(draw.call)
        syntax = next(one.value for one in draw.syntax.keywords if one.arg == "generator")
        text = self._analysis.text(syntax) if isinstance(syntax, ast.Name | ast.Attribute) else None
        if is_optional(generator) and text is not None:
            return f"{text}.device if {text} is not None else None"
        places = [self._draws.place(one) for one in self._draws.makers(generator)]
        node = places[0].node if places and places[0] is not None else None
        device = spelled(self._analysis, node, point) if node is not None and point is not None else None
        return device or (f"{text}.device" if text is not None else None)

    # Noise for a caller

    def _draws_for_caller(self, draw: Draw) -> bool:
        """Whether noise is drawn on the host with a generator of the caller, and moved to where its tensor is, where
        the generator may well be, too; noise for a device of the program's choice is often drawn there on purpose."""
        kinds, generator = self._analysis.kinds, draw.generator
        if generator.op is not Op.PARAM or draw.place != HOST or draw.told is not None or not is_bare_factory(draw):
            return False
        if kinds.is_given(generator) and self._draws.makers(generator):
            return False
        moves = moves_behind(self._index, draw.call)
        return any(self._follows_caller(device) for one in moves if (device := device_of_move(one)) is not None)

    def _follows_caller(self, device: Node) -> bool:
        """`x.device`, of what a caller gave, maybe among others."""
        of = self._index.origins.of
        asked = (one.args[0] for one in of(device) if one.op is Op.ATTR and one.extra == "device")
        return any(each.op is Op.PARAM and each is not each.function.self_node for one in asked for each in of(one))

    def _noise(self, draw: Draw) -> Answer:
        name = str(draw.generator.extra)
        device = f"{name}.device if {name} is not None else None"
        return Answer(
            draw.syntax,
            f"`{name}` draws on the host whatever its device: one made on a device is refused here",
            Fix(
                Safety.SAFE,
                f"Draw on the device of `{name}`",
                (with_keyword(self._index.source, draw.syntax, device, "device"),),
            ),
            trail=((draw.syntax, "the numbers are drawn on the host, and moved to the device afterwards"),),
        )
