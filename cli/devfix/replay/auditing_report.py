"""Audits as plain lines."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from devfix.replay.auditing import Audit, Kept, Site, per_step
from devfix.replay.postmortem import BatchValue, ModuleValue, OptimizerValue, Value
from devfix.replay.workspace import readable

ROWS = 12
_INDENT = "  "


def lines(audit: Audit) -> list[str]:
    """Where everything lives, and what is moved in a step."""
    return [
        *_section("models", (_module(each) for each in audit.models)),
        *_section("averages and copies", (_module(each) for each in audit.copies)),
        *_section("optimizers", map(_optimizer, audit.optimizers)),
        *_section("batches", (_batch(site) for site in audit.batches)),
        *_section("losses", (f"on {_named(site.details['place'])} at {_seen(site)}" for site in audit.losses)),
        *_section("others", filter(None, map(_other, audit.others))),
        *_traffic(audit),
    ]


def _section(title: str, rows: Iterable[str]) -> list[str]:
    found = list(rows)
    more = [f"{_INDENT}and {len(found) - ROWS} more"] if len(found) > ROWS else []
    return [f"{title}:", *(_INDENT + row for row in found[:ROWS]), *more] if found else []


def _module(kept: Kept) -> str:
    module = kept.value
    assert isinstance(module, ModuleValue)
    odd = f" ({', '.join(member.name for member in module.odd)})" if module.odd else ""
    written = "" if kept.trained or not kept.updated else ", written to outside an optimizer"
    return f"{module.expression} ({module.type}): {_counts(module.places)}{odd}{written}"


def _optimizer(optimizer: OptimizerValue) -> str:
    state = _counts(optimizer.state_places) if optimizer.state_places else "none yet"
    return f"{optimizer.expression} ({optimizer.type}): parameters on {_counts(optimizer.places)}, state: {state}"


def _batch(site: Site) -> str:
    items = []
    for item in site.details.get("items", ()):
        shape = ", ".join(map(str, item.get("shape") or ()))
        items.append(f"{item.get('key')} {item.get('dtype')}[{shape}] on {_named(item.get('place', '?'))}")
    pinned = "pinned" if site.details.get("pinned") else "not pinned"
    return f"{'; '.join(items)} ({pinned}) at {_seen(site)}"


def _other(value: Value) -> str:
    if isinstance(value, ModuleValue):
        return f"{value.expression} ({value.type}): {_counts(value.places)}"
    if isinstance(value, BatchValue):
        places: dict[str, int] = {}
        for item in value.items:
            places[item.facts.place] = places.get(item.facts.place, 0) + 1
        return f"{value.expression} ({value.type}): tensors on {_counts(places)}"
    return ""


def _traffic(audit: Audit) -> list[str]:
    moved = [(site, *per_step(site, audit.steps)) for site in audit.moves]
    waited = [(site, *per_step(site, audit.steps)) for site in audit.waits]
    rows = [_move(site, count, size) for site, count, size in _largest(moved)]
    rows += [f"{_times(count)} waits for {site.details['how']} at {_seen(site)}" for site, count, _ in _largest(waited)]
    when = "moved in a step" if audit.steps else "moved, before any step of an optimizer"
    if not rows:
        return [f"{when}: nothing"]
    to_device = sum(size for site, _, size in moved if site.details["from"] == "cpu")
    to_host = sum(size for site, _, size in moved if site.details["to"] == "cpu")
    title = f"{when}: {readable(round(to_device))} to devices, {readable(round(to_host))} to the host"
    return _section(title, rows)


def _largest(sites: Iterable[tuple[Site, float, float]]) -> Sequence[tuple[Site, float, float]]:
    return sorted((entry for entry in sites if entry[1]), key=lambda entry: -entry[2])


def _move(site: Site, count: float, size: float) -> str:
    details = site.details
    how = []
    if details["from"] == "cpu":
        how = ["pinned" if details.get("pinned") else "not pinned"]
        how += ["non_blocking"] if details.get("non_blocking") else []
    elif details["to"] == "cpu" and not details.get("non_blocking"):
        how = ["waits"]
    about = f" ({', '.join(how)})" if how else ""
    route = f"{_named(details['from'])} → {_named(details['to'])}"
    return f"{_times(count)} {route}, {readable(round(size))}{about} at {_seen(site)}"


def _times(count: float) -> str:
    return f"{count:.0f} ×" if count == round(count) else f"{count:.1f} ×"


def _seen(site: Site) -> str:
    return f"{site.where}: {site.code}" if site.code else site.where


def _counts(places: Mapping[str, Any]) -> str:
    if len(places) == 1:
        return _named(next(iter(places)))
    return ", ".join(f"{count} on {_named(place)}" for place, count in places.items())


def _named(place: str) -> str:
    return "the host" if place == "cpu" else place
