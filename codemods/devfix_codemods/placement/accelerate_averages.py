"""Averages of `diffusers.EMAModel` beside a model that accelerate moves: those that stay on the host."""

from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.catalogue import canonical
from devfix_codemods.catalogue.torch import MAP_LOCATION
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import method_name, names
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import loaded_to
from devfix_codemods.placement.places import HOST, place_of

_EMA = frozenset({"diffusers.training_utils.EMAModel", "diffusers.EMAModel"})
_ACCELERATORS = frozenset({"accelerate.Accelerator", "accelerate.accelerator.Accelerator"})
_PLACES = frozenset({"to", "pin_memory"})
_MOST_PARTS = 40


@dataclass(frozen=True, slots=True)
class Stray:
    """The average that `made` gives is on the host from `at` on: accelerate moves the model there, or it is `loaded`.

    `placed` says how the program places it elsewhere, if it does.
    """

    made: Node
    at: Node
    accelerator: Node
    loaded: bool
    placed: frozenset[str] = frozenset()


def stray_models(analysis: Analysis) -> Iterator[Stray]:
    """Averages that are never moved, or are loaded on the host after they were."""
    calls = [one for one in analysis.module.nodes() if one.op is Op.CALL]
    accelerators = [one for one in calls if not _ACCELERATORS.isdisjoint(names(one.args[0]))]
    for made in calls if len(accelerators) == 1 else ():
        if not _EMA.isdisjoint(names(made.args[0])):
            yield from _Average(analysis, made, accelerators[0]).stray()


class _Average:
    """One average, and what is done with it."""

    def __init__(self, analysis: Analysis, made: Node, accelerator: Node) -> None:
        self._births = analysis.births
        self._kinds = analysis.kinds
        self._made = made
        self._accelerator = accelerator
        self._calls = [one for one in analysis.module.nodes() if one.op is Op.CALL]
        self._placed = [one for one in self._uses(made) if method_name(one) in _PLACES]

    def _uses(self, what: Node) -> list[Node]:
        """The calls of its methods."""
        methods = [one for one in self._calls if one.args[0].op is Op.ATTR]
        return [one for one in methods if what in self._births.roots(one.args[0].args[0])]

    def stray(self) -> Iterator[Stray]:
        within, places = self._made.function, frozenset(str(method_name(one)) for one in self._placed)
        functions = {one.function for one in self._placed}
        for load in self._uses(self._made):
            if (
                method_name(load) == "load_state_dict"
                and load.function is not within
                and load.function not in functions
                and self._is_loaded_on_host(load)
            ):
                yield Stray(self._made, load, self._accelerator, True, places)
        prepared = self._prepared()
        if prepared is not None and within not in functions and not self._is_given() and not self._follows_moved():
            yield Stray(self._made, prepared, self._accelerator, False)

    def _is_loaded_on_host(self, load: Node) -> bool:
        """Whether nothing says that what is loaded is on a device, or where it was when it was saved."""
        pending = list(load.args[1:])
        for one in pending:  # grows by what each is made of
            if one.op is Op.CALL and self._is_elsewhere(one, load):
                return False
            pending += one.args if len(pending) < _MOST_PARTS else ()
        return True

    def _is_elsewhere(self, made: Node, load: Node) -> bool:
        if not MAP_LOCATION.keys().isdisjoint(map(canonical, names(made.args[0]))):
            device = loaded_to(made)
            return device is None or place_of(device, self._kinds) != HOST
        placed = self._births.place_given(made)
        moves = (one for one in self._uses(made) if method_name(one) == "to" and one.function is load.function)
        return placed not in {None, HOST} or any(one.index < load.index for one in moves)

    def _is_given(self) -> bool:
        """Whether something else gets the average, and may move it."""
        return any(
            self._made in self._births.roots(one)
            for call in self._calls
            if method_name(call) != "register_for_checkpointing"
            for one in call.args[1:]
        )

    def _prepared(self) -> Node | None:
        """The one `prepare` behind it in the same function."""
        later = (one for one in self._uses(self._accelerator) if one.index > self._made.index)
        found = [one for one in later if method_name(one) == "prepare" and one.function is self._made.function]
        return found[0] if len(found) == 1 else None

    def _follows_moved(self) -> bool:
        """Whether the weights that are averaged were moved before: the copies are where they are."""
        pending = list(self._made.args[1:])
        for one in pending:  # grows by what each is made of
            if one in self._births.moved_in_place or self._births.is_move(one) or method_name(one) == "prepare":
                return True
            pending += one.args if len(pending) < _MOST_PARTS else ()
        return False
