"""Where what is loaded without a place belongs, by what is done with it."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from devfix_codemods.assumptions.availability_tests import speaks
from devfix_codemods.assumptions.index import Index, called, method
from devfix_codemods.edits.quotes import quoted
from devfix_codemods.findings import Safety
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key
from devfix_codemods.loading import naming
from devfix_codemods.loading.calls import Calls, Load
from devfix_codemods.loading.devices import Devices
from devfix_codemods.loading.following import Following
from devfix_codemods.loading.meetings import Meetings
from devfix_codemods.loading.nearby_loads import Beside, written
from devfix_codemods.loading.published import is_published_on_host
from devfix_codemods.loading.uses import LOOKS, Use, Uses, unmoved
from devfix_codemods.placement.arguments import keyword
from devfix_codemods.placement.places import sounds_like_device
from devfix_codemods.repairs.points import after

_PLAIN = (*LOOKS, Use.FEEDS_NUMBERS, Use.STATES)
_AVAILABLE = ("call", ("REF", "torch.cuda.is_available"))
_TAKEN = frozenset({Use.FEEDS, Use.FEEDS_NUMBERS, Use.FEEDS_UNSURE, Use.MOVED, Use.APART})
"""What is done with a state, or before a network is used."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The place for one load; `text` is None where only a person can tell."""

    text: str | None
    safety: Safety
    reason: str
    agrees: bool = False
    """Whether all that is loaded beside it goes to the same place."""


_SAY = Choice(None, Safety.MANUAL, "say where the model should live")


class Places:
    """Where the loads among the calls of one file should put what they load."""

    def __init__(self, index: Index, calls: Calls) -> None:
        self._index = index
        self._analysis = index.analysis
        self._host = partial(Choice, quoted(index.source, "cpu"))
        self._probably_host = partial(self._host, Safety.UNSAFE)
        self._calls = calls
        self._following = Following(index, self._calls)
        self._meetings = Meetings(index.analysis)
        self._devices = Devices(index, self._following, self._meetings)
        self._beside = Beside(index)

    def chosen(self, loads: Sequence[Load]) -> Iterator[tuple[Load, Choice]]:
        """Those that leave the place to the file, each with a better one; none where one place is not enough."""
        found = [(load, self._following.of_load(load)) for load in loads]
        choices = [self._choose(load, uses) for load, uses in found]
        left = [uses for (_, uses), choice in zip(found, choices) if choice is None]
        for (load, uses), choice in zip(found, choices):
            alone = choice is not None and (choice.safety is Safety.SAFE or choice.agrees)
            if choice is not None and (alone or not any(self._join(uses, one) for one in left)):
                yield load, choice

    def _join(self, one: Uses, other: Uses) -> bool:
        """Whether something gets what both have loaded: `merge([first, second])`. One place for both, or none."""
        users = (each for value in one.values for each in self._index.users.get(value, ()))
        joining = (each for each in users if each.op in {Op.CALL, Op.SEQUENCE, Op.OPERATION})
        return any(arg in other.values and arg not in one.values for each in joining for arg in each.args)

    def _choose(self, load: Load, uses: Uses) -> Choice | None:
        call, given = load.call, load.call.function.parameters.get("map_location")
        if not load.is_module and (tested := self._by_test(call)) is not None:
            return tested
        if self._beside.is_decided(call):
            return None
        if speaks(self._index, call.guard, naming.ASKS):
            return self._without_device(load)
        if any(is_published_on_host(self._analysis.origins, one) for one in load.sources):
            return None
        if load.is_module:
            return self._run_at_hand(load, uses)
        if given is not None:
            used = self._index.users[given] or self._index.stores[given]
            safety = Safety.UNSAFE if used else Safety.SAFE
            return Choice("map_location", safety, "the function is given `map_location`")
        mapped = keyword(call, "mmap")
        if (certain := self._certain(load, uses)) is not None:
            return certain
        if mapped is not None and mapped.extra is True:
            return self._probably_host("it is read from the file as far as it is needed")
        if self._beside.is_round_trip(call) or uses.only(*_PLAIN):
            return None
        return self._without_device(load) or self._probable(load, uses)

    def _by_test(self, call: Node) -> Choice | None:
        """What the tests around a load say: there is no CUDA, or a device is given."""
        if (_AVAILABLE, False) in call.guard:
            return self._host(Safety.SAFE, "there is no CUDA on this branch")
        for name, one in call.function.parameters.items():
            if sounds_like_device(name) and (("none", key(one)), False) in call.guard:
                return Choice(name, Safety.UNSAFE, f"`{name}` is given on this branch")
        return None

    def _without_device(self, load: Load) -> Choice | None:
        """The host, on a branch on which the program puts nothing on a device."""
        on_host = not self._analysis.graph.host_only.isdisjoint(load.call.guard)
        return self._probably_host("nothing is on a device on this branch") if on_host and not load.is_module else None

    def _run_at_hand(self, load: Load, uses: Uses) -> Choice | None:
        """A module of Lightning that is run where it is loaded: no trainer, and no move, brings it somewhere."""
        runs = Use.RUN in uses and uses.only(*LOOKS, Use.RUN, Use.RETURNED)
        device = self._devices.at_hand(load.call, uses) if runs else None
        return Choice(device, Safety.UNSAFE, f"it is run there, and `{device}` is at hand") if device else None

    def _certain(self, load: Load, uses: Uses) -> Choice | None:
        """Where the place cannot matter to what comes after."""
        if uses.moved and uses.only(Use.MOVED, *LOOKS) and not any(_is_network(one, uses) for one in uses.moved):
            place = self._moved_to(load, uses)
            reason = "what is loaded is moved there at once"
            if place is not None:
                return Choice(place, Safety.SAFE, reason)
            networks = any(map(self._analysis.kinds.is_module, uses.moved))  # with tensors that no move takes along
            return self._host(Safety.UNSAFE if networks else Safety.SAFE, reason)
        if Use.FEEDS in uses and uses.only(Use.FEEDS, *_PLAIN):
            return self._host(Safety.SAFE, "`load_state_dict` copies into the parameters wherever they are")
        options = Use.OPTIONS in uses and uses.only(*LOOKS)
        return self._host(Safety.SAFE, "only the options of the model are read") if options else None

    def _moved_to(self, load: Load, uses: Uses) -> str | None:
        """The one device that all of it is moved to, if it has a name by then.

        None as well for what is moved part by part: there may be no room for all of it.
        """
        around = set(self._index.ancestors(load.call.syntax or self._analysis.module.tree))
        for move in uses.moved:
            turns = set(self._index.ancestors(move.syntax or self._analysis.module.tree)) - around
            if any(isinstance(one, ast.For | ast.While) for one in turns):
                return None
        names = {self._target(load, one) for one in uses.moved}
        return names.pop() if len(names) == 1 else None

    def _target(self, load: Load, move: Node) -> str | None:
        """The name that the device has at the load to which a call moves."""
        told = move.args[0].extra == "to" and len(move.args) == 2
        return self._devices.named(load.call, move.args[1]) if told else None

    def _probable(self, load: Load, uses: Uses) -> Choice | None:
        """Where it probably belongs, the strongest reason first."""
        names, function = self._names(load.call, uses), load.call.function
        if Use.ON_HOST in uses or any(map(naming.DATA.search, names)):
            return self._probably_host("it is read on the host as it is loaded")
        device = self._devices.at_hand(load.call, uses)
        if (staying := self._why_it_stays(load, uses)) is not None:
            return Choice(device, Safety.MANUAL if device is None else Safety.UNSAFE, staying)
        if Use.SAVED in uses and uses.only(Use.SAVED, Use.STATES, *LOOKS):
            return self._probably_host("it is only saved again")
        if Use.SAVED in uses and any(_is_whole(one, uses) for one in uses.moved):
            return self._probably_host("it is saved as it is loaded, before any move")
        if Use.FEEDS in uses:
            return self._probably_host("its tensors are copied into the parameters")
        if function in self._analysis.births.host_functions or Use.STATES in uses:
            works = function.name == "__getitem__"
            return self._probably_host("a worker of a loader has no device") if works else None
        if device is not None:
            return self._beside_device(load, uses, device)
        returned = load.call in self._index.returned
        if returned and (called(load.call, "torch.jit.load") or "classmethod" in function.decorators):
            return _SAY
        path = ast.unparse(written(load.call, load.call.args[1])).rpartition(".")[2]
        spoken = [*names, path, *([function.name] if returned and not names else [])]
        if Use.FEEDS_UNSURE in uses or any(map(naming.CHECKPOINT.search, spoken)):
            return self._probably_host("a checkpoint is taken apart on the host")
        if (place := self._beside.place(load.call)) is not None:
            return Choice(place, Safety.UNSAFE, "the other loads here say this place", agrees=True)
        gives = returned and naming.GIVES_MODEL.search(function.name)
        if not (gives or Use.RUN in uses or any(map(naming.MODEL.search, names))):
            return None
        goes = Use.RETURNED in uses or Use.GIVEN in uses or naming.HARDWARE.search(self._index.source.text)
        return _SAY if goes else self._probably_host("nothing in this file is on a device")

    def _beside_device(self, load: Load, uses: Uses, device: str) -> Choice:
        """There, unless the value goes with others of the host, or what of it belongs on the device is moved anyhow."""
        if self._meetings.on_host(load.call, uses):
            return self._probably_host("it goes with tensors that are made on the host")
        if any(_is_whole(one, uses) and self._target(load, one) == device for one in uses.moved):
            return Choice(device, Safety.UNSAFE, f"the module that is loaded is moved to `{device}`")
        if uses.moved and Use.RESTORED not in uses and Use.RUN not in uses:
            return self._probably_host("what of it belongs on a device is moved there")
        return Choice(device, Safety.UNSAFE, f"`{device}` is at hand")

    def _why_it_stays(self, load: Load, uses: Uses) -> str | None:
        """Why something of what is loaded is used where it lands."""
        handed = (one.args[0].args[0] for one in uses.found.get(Use.GIVEN, ()) if method(one) is not None)
        if Use.KEPT in uses or any(unmoved(one) in uses.fed for one in handed):
            return "a tensor from it is kept, and must be where the others are"
        if Use.HELD in uses and Use.FEEDS in uses:
            return "what an object keeps of it must be where its other tensors are"
        if self._meetings.elsewhere(load.call, uses):
            return "it meets another tensor, and must be where that is"
        parts = [one for one in uses.values if one.op is Op.ITEM]
        if any(self._is_stepped(one) for one in parts):
            return "an optimizer in it keeps its state where that lands"
        entries = (one for one in parts if naming.NETWORK.fullmatch(str(one.extra)))
        ways = (self._following.of_values([one]) for one in entries)
        kept = any((Use.RETURNED in one or Use.HELD in one) and not _TAKEN & one.found.keys() for one in ways)
        return "a network in it is kept as it is" if kept else None

    def _is_stepped(self, part: Node) -> bool:
        """Whether a part is an optimizer itself, no state to be copied into one: the program takes steps with it."""
        values = self._following.of_values([part]).values
        users = (each for one in values for each in self._index.users.get(one, ()) if each.op is Op.ATTR)
        asked = {each.extra for each in users}
        return "param_groups" in asked or {"step", "zero_grad"} <= asked

    def _names(self, call: Node, uses: Uses) -> list[str]:
        """What the value, and its parts, are called after the load."""
        point = after(call)
        bound = point.environment.items() if point is not None else ()
        return [name if isinstance(name, str) else name[1] for name, node in bound if node in uses.values]


def _is_network(move: Node, uses: Uses) -> bool:
    """Whether a call moves a module, which may keep tensors that do not move with it."""
    moved = move.args[0].args[0]
    return _is_whole(move, uses) or (moved.op is Op.ITEM and naming.NETWORK.fullmatch(str(moved.extra)) is not None)


def _is_whole(move: Node, uses: Uses) -> bool:
    """Whether a call moves, in place, the very value that was loaded."""
    return isinstance(move.statement, ast.Expr) and uses.values.get(move.args[0].args[0], False)
