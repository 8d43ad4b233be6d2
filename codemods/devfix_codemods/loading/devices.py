"""Which device is at hand for what is loaded: where it meets what is placed, or what was chosen as a device."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.assumptions.availability_tests import speaks
from devfix_codemods.assumptions.index import Index, called
from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import names, resolved
from devfix_codemods.loading.following import Following
from devfix_codemods.loading.meetings import Meetings
from devfix_codemods.loading.uses import Use, Uses
from devfix_codemods.placement.arguments import is_none, keyword
from devfix_codemods.placement.places import Where
from devfix_codemods.repairs.conditions import is_accelerator
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.points import Point, before
from devfix_codemods.repairs.scope import devices_at, may_be_unset, values_of
from devfix_codemods.repairs.spelling import spelled

_EARLY = frozenset({"__init__", "setup", "prepare_data", "configure_model"})
"""What Lightning calls before it moves a module."""
_ASKS = re.compile(r"is_available")
_NUMBERED = re.compile(r"(?i)rank|gpu|card|output_device|device_?(?:id|idx|index|num|no)(?![a-z])")


class Devices:
    """The devices of one file."""

    def __init__(self, index: Index, following: Following, meetings: Meetings) -> None:
        self._index = index
        self._analysis = index.analysis
        self._following = following
        self._meetings = meetings

    def at_hand(self, call: Node, uses: Uses) -> str | None:
        """The best expression for the place of what a call loads."""
        point = before(call)
        found = self._expressions(call, point, uses) if point is not None else iter(())
        return next((text for text in found if not self._is_none_yet(text, call)), None)

    def named(self, call: Node, device: Node) -> str | None:
        """The name that a device has where a call loads; None for a constant, and for the number of a card."""
        point = before(call) if device.op is not Op.CONST else None
        text = spelled(self._analysis, device, point) if point is not None else None
        return text if text is not None and self._is_taken(text, device) else None

    def _expressions(self, call: Node, point: Point, uses: Uses) -> Iterator[str]:
        for text, node in devices_at(self._analysis, point, even_cuda=True):
            if self._is_taken(text, node) and not self._is_unset(node) and not self._is_idle(node):
                yield text
        for conflict in self._meetings.of(call, uses):
            where, node = conflict.end.place.where, conflict.end.place.node or call
            for one in suffixes(self._analysis, conflict, point) if where in {Where.DEVICE, Where.CALLER} else ():
                follows = one.test is None and (one.follows or where is Where.DEVICE)
                if one.device is not None and follows and self._is_taken(one.device, node):
                    yield one.device

    def _is_taken(self, text: str, device: Node) -> bool:
        """Whether `map_location` takes it: a device, or the name of one, but no number."""
        return _NUMBERED.search(text) is None and not self._analysis.kinds.says(device, Kind.NUMBER)

    # Devices that are none yet

    def _is_unset(self, node: Node) -> bool:
        """Whether a device is None until the code sets it, also by a base of another file that leaves it so."""
        owner = node.args[0].function.owner if node.op is Op.ATTR else None
        lineage = self._analysis.births.imported.lineage(owner) if owner is not None else ()
        stores = (one for each in lineage for run in each.methods.values() for one in run.stores)
        kept = (one.value for one in stores if one.is_attribute and one.key == node.extra)
        return may_be_unset(node) or any(is_none(one) for one in kept)

    def _is_none_yet(self, text: str, call: Node) -> bool:
        """Whether a device is none while the object is made: that of a model which is loading, or not moved so far."""
        if self._may_be_meta(text, call.function):
            return True
        owner = call.function.owner
        if owner is None or text != "self.device":
            return False
        imported = self._analysis.births.imported
        bases = [one for each in imported.lineage(owner) for base in each.bases for one in names(base)]
        return any(one.endswith("PreTrainedModel") for one in bases) or (
            imported.is_managed(owner) and call.function in self._early(call.function)
        )

    def _early(self, function: Function) -> set[Function]:
        """The methods of a class that only its first hooks run."""
        methods = [one for one in self._analysis.module.functions if one.owner is function.owner]
        found = {one for one in methods if one.name in _EARLY}
        while more := {
            one
            for one in methods
            if one not in found and (run := self._index.callers(one)) and all(each.function in found for each in run)
        }:
            found |= more
        return found

    def _may_be_meta(self, text: str, function: Function) -> bool:
        """Whether the code around asks if a device is "meta": what is loaded to that has no data."""
        around = function.owner.methods.values() if function.owner is not None else [function]
        word = re.compile(rf"(?<![\w.]){re.escape(text)}(?!\w)")
        compared = (one.syntax for each in around for one in each.nodes if one.op is Op.COMPARE)
        texts = (ast.unparse(one) for one in compared if one is not None)
        return any(word.search(one) and re.search(r"['\"]meta['\"]", one) for one in texts)

    # Devices that nothing needs

    def _is_idle(self, device: Node) -> bool:
        """Whether a device is the CUDA of a default, or a `device_map`, and nothing is brought there unasked."""
        made = [device]
        for one in made:  # grows
            more = [*values_of(one), *(one.args[1:] if called(one, "torch.device") else ()), resolved(one)]
            made += [each for each in more if each.op is not Op.CONST and each not in made]
        uses = self._following.of_values(made)
        given = [each for use in (Use.GIVEN, Use.OTHER, Use.FEEDS_UNSURE) for each in uses.found.get(use, ())]
        maps = [one for one in given if keyword(one, "device_map") in uses.values]
        needs = (one for one in given if one not in maps and not speaks(self._index, one.guard, _ASKS))
        return (bool(maps) or any(map(self._is_default, made))) and not any(needs)

    def _is_default(self, node: Node) -> bool:
        """A parameter that is CUDA where nobody says otherwise; an option of a parser in the same file."""
        default = node.function.defaults.get(str(node.extra)) if node.op is Op.PARAM else None
        if default is None and node.op is Op.ATTR and node.args[0].op is not Op.PARAM:
            options = (one for one in self._index.calls if one.args[0].extra == "add_argument" and len(one.args) > 1)
            default = next((keyword(one, "default") for one in options if one.args[1].extra == f"--{node.extra}"), None)
        return default is not None and is_accelerator(self._analysis, default)
