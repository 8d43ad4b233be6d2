"""What an audited run had where, as frozen data, and what is odd about it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devfix.replay.postmortem import BatchValue, ModuleValue, OptimizerValue, Value
from devfix.replay.postmortem.decoding import decode_value

_AVERAGE = re.compile(r"(?<![A-Za-z])ema(?![a-z])|Ema(?![a-z])|(?<![A-Z])EMA(?![a-z])|AveragedModel")
"""Names of classes that keep an average: `ema` is a word of them, as it is none of `SemanticEncoder`."""


@dataclass(frozen=True, slots=True)
class Site:
    """A line of the user's and what was seen there; `details` are what the probe wrote."""

    file: str | None
    line: int | None
    code: str
    details: Mapping[str, Any]

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}" if self.file else "outside the tree"


@dataclass(frozen=True, slots=True)
class Kept:
    """A module, an optimizer, or an object with tensors that a name of the script stands for at the end of a step.

    `trained` says that an optimizer has its parameters, `updated` that its tensors were written to between steps.
    """

    value: Value
    trained: bool
    updated: bool


@dataclass(frozen=True, slots=True)
class Audit:
    """What was seen of a run of so many optimizer `steps`."""

    steps: int = 0
    kept: tuple[Kept, ...] = ()
    batches: tuple[Site, ...] = ()
    inputs: tuple[Site, ...] = ()
    losses: tuple[Site, ...] = ()
    moves: tuple[Site, ...] = ()
    waits: tuple[Site, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def models(self) -> tuple[Kept, ...]:
        return tuple(each for each in self.kept if isinstance(each.value, ModuleValue) and each.trained)

    @property
    def copies(self) -> tuple[Kept, ...]:
        """Averages of a model: modules that no optimizer has, but that are written to."""
        modules = (each for each in self.kept if isinstance(each.value, ModuleValue) and not each.trained)
        return tuple(each for each in modules if each.updated or _is_average(each.value))

    @property
    def optimizers(self) -> tuple[OptimizerValue, ...]:
        return tuple(each.value for each in self.kept if isinstance(each.value, OptimizerValue))

    @property
    def others(self) -> tuple[Value, ...]:
        """Further modules, and objects that keep tensors."""
        told = {id(each) for each in (*self.models, *self.copies)}
        rest = (each for each in self.kept if id(each) not in told)
        return tuple(each.value for each in rest if isinstance(each.value, (ModuleValue, BatchValue)))


def decode(record: Mapping[str, Any]) -> Audit:
    """The audit that the probe wrote."""
    kept = (_kept(each) for each in record.get("values", ()))
    return Audit(
        steps=record.get("steps", 0),
        kept=tuple(each for each in kept if each is not None),
        **{name: _sites(record.get(name, ())) for name in ("batches", "inputs", "losses", "moves", "waits")},
        raw=record,
    )


def oddities(audit: Audit, on: str) -> list[str]:
    """What should not be so: each in one line."""
    return [
        *(line for each in audit.models for line in _mixed(each.value)),
        *(line for optimizer in audit.optimizers for line in _apart(optimizer)),
        *_strangers(audit),
        *_unused(audit, on),
    ]


def per_step(site: Site, steps: int) -> tuple[float, float]:
    """How often, and with how many bytes, something happened in a step.

    The first step is left out where there are others: moving the model counts to it.
    """
    counts = {int(step): values for step, values in site.details.get("counts", {}).items()}
    wanted = range(1, steps) if steps > 1 else range(1)
    total = [counts.get(step, (0, 0)) for step in wanted]
    return sum(count for count, _ in total) / len(wanted), sum(size for _, size in total) / len(wanted)


def _kept(record: Mapping[str, Any]) -> Kept | None:
    value = decode_value(record)
    return None if value is None else Kept(value, record.get("trained") is True, record.get("updated") is True)


def _sites(records: Sequence[Mapping[str, Any]]) -> tuple[Site, ...]:
    known = (record for record in records if "code" in record)
    return tuple(Site(record.get("file"), record.get("line"), record["code"], record) for record in known)


def _is_average(value: Value) -> bool:
    return isinstance(value, ModuleValue) and _AVERAGE.search(value.type) is not None


def _mixed(value: Value) -> list[str]:
    if not isinstance(value, ModuleValue) or len(value.places) < 2:
        return []
    odd = ", ".join(f"{member.name} on {_named(member.facts.place)}" for member in value.odd)
    return [f"`{value.expression}` ({value.type}) is in more than one place: {odd}"]


def _apart(optimizer: OptimizerValue) -> list[str]:
    apart = [place for place in optimizer.state_places if place not in optimizer.places]
    if not apart:
        return []
    whole = "the" if len(apart) == len(optimizer.state_places) else "a part of the"
    here, there = _list(apart), _list([*optimizer.places])
    return [f"{whole} state of `{optimizer.expression}` is on {here}, its parameters on {there}"]


def _strangers(audit: Audit) -> list[str]:
    """Inputs that a module got from another place than its own."""
    found = []
    for site in audit.inputs:
        at = set(site.details.get("at", ()))
        elsewhere = set(site.details.get("places", ())) - at - {"meta"}
        if at and elsewhere:
            given = _list(sorted(elsewhere))
            found.append(f"{site.details['module']}, on {_list(sorted(at))}, gets input on {given} at {site.where}")
    return found


def _unused(audit: Audit, on: str) -> list[str]:
    places = {place for each in audit.models if isinstance(each.value, ModuleValue) for place in each.value.places}
    if on == "cpu" or places != {"cpu"}:
        return []
    device = "a device" if on == "simulated" else f"a {on} device"
    return [f"{device} is there, but every model is on the host"]


def _list(places: Sequence[str]) -> str:
    return " and ".join(map(_named, places))


def _named(place: str) -> str:
    return "the host" if place == "cpu" else place
