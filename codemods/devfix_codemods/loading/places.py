"""Where what is loaded without a place belongs, by what is done with it."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.assumptions.asked import speaks
from devfix_codemods.assumptions.index import Index, method
from devfix_codemods.edits.quotes import quoted
from devfix_codemods.findings import Safety
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.loading import words
from devfix_codemods.loading.beside import Beside
from devfix_codemods.loading.calls import Calls, Load
from devfix_codemods.loading.devices import Devices
from devfix_codemods.loading.meetings import Meetings
from devfix_codemods.loading.uses import LOOKS, Following, Use, Uses, unmoved
from devfix_codemods.placement.arguments import keyword
from devfix_codemods.repairs.points import before
from devfix_codemods.repairs.spelling import spelled

_SAY = "say where the model should live"
_PLAIN = (*LOOKS, Use.FEEDS_NUMBERS, Use.STATES)


@dataclass(frozen=True, slots=True)
class Choice:
    """The place for one load; `text` is None where only a person can tell."""

    text: str | None
    safety: Safety
    reason: str
    agrees: bool = False
    """Whether all that is loaded beside it goes to the same place."""


class Places:
    """Where the loads of one file should put what they load."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._analysis = index.analysis
        self._host = quoted(index.source, "cpu")
        self._calls = Calls(index)
        self._following = Following(index, self._calls)
        self._meetings = Meetings(index.analysis)
        self._devices = Devices(index, self._following, self._meetings)
        self._beside = Beside(index)

    def chosen(self) -> Iterator[tuple[Load, Choice]]:
        """The loads that leave the place to the file, each with a better one; none where one place is not enough."""
        found = {load: (self._following.of_load(load), None) for load in self._calls.loads()}
        choices = {load: self._choose(load, uses) for load, (uses, _) in found.items()}
        left = [found[load][0] for load, choice in choices.items() if choice is None]
        for load, choice in choices.items():
            together = choice is not None and choice.safety is not Safety.SAFE and not choice.agrees
            if choice is not None and not (together and any(self._join(found[load][0], one) for one in left)):
                yield load, choice

    def _join(self, one: Uses, other: Uses) -> bool:
        """Whether something gets what both have loaded: `merge([first, second])`. One place for both, or none."""
        return any(
            each not in other.values
            for value in one.values
            for each in self._index.users.get(value, ())
            if each.op in {Op.CALL, Op.SEQUENCE, Op.OPERATION}
            and any(arg in other.values and arg not in one.values for arg in each.args)
        )

    def _choose(self, load: Load, uses: Uses) -> Choice | None:
        if speaks(self._index, load.call.guard, words.ASKS) or self._beside.is_decided(load):
            return None
        if load.is_module:
            return self._of_lightning(load, uses)
        if (given := self._given(load)) is not None:
            return given
        certain = self._certain(load, uses)
        mapped = keyword(load.call, "mmap")
        if certain is None and mapped is not None and mapped.extra is True:
            return self._on_host("it is read from the file as far as it is needed")
        if certain is not None or self._is_round_trip(load) or self._beside.saves_host_values(load):
            return certain
        return self._probable(load, uses)

    def _on_host(self, reason: str, safety: Safety = Safety.UNSAFE) -> Choice:
        return Choice(self._host, safety, reason)

    def _given(self, load: Load) -> Choice | None:
        """The `map_location` that the function around was given."""
        function = load.call.function
        given = function.parameters.get("map_location")
        if given is None or load.wrapper is function:
            return None
        used = self._index.users[given] or self._index.stores[given]
        return Choice("map_location", Safety.UNSAFE if used else Safety.SAFE, "the function is given `map_location`")

    def _is_round_trip(self, load: Load) -> bool:
        """What was saved before, in this very process; what was kept in memory."""
        path = load.call.args[1]
        return self._beside.is_round_trip(load) or (
            path.op is Op.PARAM and words.MEMORY.search(str(path.extra)) is not None
        )

    def _of_lightning(self, load: Load, uses: Uses) -> Choice | None:
        """A module that is run where it is loaded, unless the program, or a trainer, brings it somewhere."""
        device = (
            self._devices.at_hand(load.call) if uses.only(*LOOKS, Use.RUN, Use.RETURNED) and Use.RUN in uses else None
        )
        return (
            Choice(device, Safety.UNSAFE, f"it is run where it is loaded, and `{device}` is at hand")
            if device
            else None
        )

    # Where the place cannot matter

    def _certain(self, load: Load, uses: Uses) -> Choice | None:
        if (
            uses.calls(Use.MOVED)
            and uses.only(Use.MOVED, *LOOKS)
            and not any(_is_network(one, uses) for one in uses.calls(Use.MOVED))
        ):
            return Choice(self._moved_to(load, uses), Safety.SAFE, "what is loaded is moved at once")
        if Use.FEEDS in uses and uses.only(Use.FEEDS, *_PLAIN):
            return self._on_host("`load_state_dict` copies into the parameters wherever they are", Safety.SAFE)
        if Use.OPTIONS in uses and uses.only(*LOOKS):
            return self._on_host("only the options of the model are read", Safety.SAFE)
        return None

    def _moved_to(self, load: Load, uses: Uses) -> str:
        """The one device that all of it is moved to, if it has a name by then; else the host.

        The host, too, for what is moved part by part: there may be no room for all of it.
        """
        point, targets = before(load.call), {self._target(one) for one in uses.calls(Use.MOVED)}
        target = targets.pop() if len(targets) == 1 else None
        around = set(self._index.ancestors(load.call.syntax)) if load.call.syntax is not None else set()
        turns = (
            one
            for move in uses.calls(Use.MOVED)
            if move.syntax is not None
            for one in self._index.ancestors(move.syntax)
        )
        if target is None or point is None or any(isinstance(one, ast.For | ast.While) for one in {*turns} - around):
            return self._host
        return spelled(self._analysis, target, point) or self._host

    def _target(self, move: Node) -> Node | None:
        """What names the device that a call moves to, unless it is a constant."""
        device = move.args[1] if len(move.args) == 2 else None
        return device if device is not None and device.op is not Op.CONST else None

    # Where it probably belongs

    def _probable(self, load: Load, uses: Uses) -> Choice | None:
        if uses.only(*_PLAIN):
            return None
        if Use.ON_HOST in uses or self._is_data(load):
            return self._on_host("it is read on the host as it is loaded")
        device = self._devices.at_hand(load.call)
        if (staying := self._why_it_stays(load, uses)) is not None:
            return Choice(device, Safety.MANUAL if device is None else Safety.UNSAFE, staying)
        if (reason := self._of_host(load, uses)) is not None:
            return self._on_host(reason)
        if load.call.function in self._analysis.constraints.births.hosted or Use.STATES in uses:
            return self._on_host("a worker of a loader has no device") if load.call.function.name == _ITEM else None
        if device is not None:
            return self._beside_device(load, uses, device)
        if self._is_built(load, uses):
            return Choice(None, Safety.MANUAL, _SAY)
        if Use.FEEDS_UNSURE in uses or self._speaks_of(words.CHECKPOINT, load, uses, path=True):
            return self._on_host("a checkpoint is taken apart on the host")
        if (place := self._beside.place(load)) is not None:
            return Choice(place, Safety.UNSAFE, "the other loads here say this place", agrees=True)
        return self._whole_model(load, uses)

    def _is_data(self, load: Load) -> bool:
        return any(map(words.DATA.search, _targets(load.call)))

    def _of_host(self, load: Load, uses: Uses) -> str | None:
        """Why it belongs on the host, whatever is at hand."""
        if Use.SAVED in uses and uses.only(Use.SAVED, Use.STATES, *LOOKS):
            return "it is only saved again"
        if Use.SAVED in uses and any(
            one.statement is not None and _is_whole(one, uses) for one in uses.calls(Use.MOVED)
        ):
            return "it is saved as it is loaded, before any move"
        return "its tensors are copied into the parameters" if Use.FEEDS in uses else None

    def _beside_device(self, load: Load, uses: Uses, device: str) -> Choice:
        """There, unless the value goes with others of the host, or what of it belongs on the device is moved anyhow."""
        if self._meetings.on_host(load.call, uses):
            return self._on_host("it goes with tensors that are made on the host")
        moved = [self._target(one) for one in uses.calls(Use.MOVED) if _is_whole(one, uses)]
        point = before(load.call)
        if point is not None and any(
            one is not None and spelled(self._analysis, one, point) == device for one in moved
        ):
            return Choice(device, Safety.UNSAFE, f"the module that is loaded is moved to `{device}`")
        if uses.calls(Use.MOVED) and Use.RESTORED not in uses and Use.RUN not in uses:
            return self._on_host("what of it belongs on a device is moved there")
        return Choice(device, Safety.UNSAFE, f"`{device}` is at hand")

    def _why_it_stays(self, load: Load, uses: Uses) -> str | None:
        """Why something of what is loaded is used where it lands."""
        handed = (one.args[0].args[0] for one in uses.calls(Use.GIVEN) if method(one) is not None)
        if Use.KEPT in uses or any(unmoved(one) in uses.fed for one in handed):
            return "a tensor from it is kept, and must be where the others are"
        if Use.HELD in uses and Use.FEEDS in uses:
            return "what an object keeps of it must be where its other tensors are"
        if self._meetings.elsewhere(load.call, uses):
            return "it meets another tensor, and must be where that is"
        entries = [one for one in uses.values if one.op is Op.ITEM and words.NETWORK.fullmatch(str(one.extra))]
        kept = any(self._stays_network(self._following.of_values([one])) for one in entries)
        return "a network in it is kept as it is" if kept else None

    def _stays_network(self, uses: Uses) -> bool:
        """Whether a network in it is given out, or kept, as it is: nothing moves it, or takes it for a mapping."""
        taken = {Use.FEEDS, Use.FEEDS_NUMBERS, Use.FEEDS_UNSURE, Use.MOVED, Use.APART}
        return not taken & uses.found.keys() and (Use.RETURNED in uses or Use.HELD in uses)

    # Whole models

    def _is_built(self, load: Load, uses: Uses) -> bool:
        """Whether a function gives back a scripted module as it is loaded, or a class what it makes of a file."""
        returned = load.call in self._index.returned
        scripted = names(load.call.args[0]) == ("torch.jit.load",)
        return returned and (scripted or "classmethod" in load.call.function.decorators)

    def _whole_model(self, load: Load, uses: Uses) -> Choice | None:
        """A pickled model: on the host where the file knows no other place, else somebody must say."""
        gives = load.call in self._index.returned and words.GIVES_MODEL.search(load.call.function.name)
        if not (self._speaks_of(words.MODEL, load, uses) or Use.RUN in uses or gives):
            return None
        stays = Use.RETURNED not in uses and Use.GIVEN not in uses
        if stays and not words.HARDWARE.search(self._index.source.text):
            return self._on_host("nothing in this file is on a device")
        return Choice(None, Safety.MANUAL, _SAY)

    def _speaks_of(self, word: re.Pattern[str], load: Load, uses: Uses, *, path: bool = False) -> bool:
        """Whether the name that gets the value speaks of something; for a `path`, that and who returns it, too."""
        spoken = _targets(load.call)
        if path and isinstance(load.call.syntax, ast.Call):
            spoken += [ast.unparse(one) for one in load.call.syntax.args[:1]]
            spoken += [load.call.function.name] if load.call in self._index.returned and not _targets(load.call) else []
        return any(word.search(one.rpartition(".")[2]) for one in spoken)


def _is_network(move: Node, uses: Uses) -> bool:
    """Whether a call moves a module, which may keep tensors that do not move with it."""
    moved = move.args[0].args[0]
    return _is_whole(move, uses) or (moved.op is Op.ITEM and words.NETWORK.fullmatch(str(moved.extra)) is not None)


def _is_whole(move: Node, uses: Uses) -> bool:
    """Whether a call moves, in place, the very value that was loaded."""
    return isinstance(move.statement, ast.Expr) and uses.values.get(move.args[0].args[0], False)


def _targets(call: Node) -> list[str]:
    """The names that get the value, and its parts."""
    match call.statement:
        case ast.AnnAssign(target=target):
            return [ast.unparse(target)]
        case ast.Assign(targets=targets):
            parts = (part for each in targets for part in (each.elts if isinstance(each, ast.Tuple) else [each]))
            return [ast.unparse(part) for part in parts]
    return []


_ITEM = "__getitem__"
