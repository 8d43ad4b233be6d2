"""Prints what was measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from variation.measuring import Row
from variation.shapes import ABSENT, AXES

_SWITCHES = 20
_FEW = 3
_GAP = 0.5


def print_tables(rows: Sequence[Row]) -> None:
    """By kind, by value of each axis, and the values that switch a kind off."""
    print("| kind | programs | found | repaired | passes | switched off | twins with findings |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    kinds = _grouped(rows, lambda row: row.case.kind)
    for kind, some in [*sorted(kinds.items()), ("all", list(rows))]:
        found = sum(row.is_found for row in some)
        off = _percent(len(some) - found, len(some)) if found else "never found"
        print(f"| {kind} | {len(some)} | {_shares(some)} | {off} | {sum(bool(row.alarms) for row in some)} |")
    known = [row for row in rows if any(one.is_found for one in kinds[row.case.kind])]
    missed = sum(not row.is_found for row in known)
    share = _percent(missed, len(known))
    print(f"\nShape sensitivity: of the kinds found in some shape, {share} of the programs are missed.")
    print("\n| axis | value | programs | found | repaired | passes |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for axis in AXES:
        for value, some in sorted(_by_value(rows, axis).items()):
            if value != ABSENT:
                print(f"| {axis} | {value} | {len(some)} | {_shares(some)} |")
    print(f"\nValues that switch a finding off (at most {_SWITCHES}):")
    for line in _switches(kinds)[:_SWITCHES]:
        print(f"  {line}")


def print_misses(rows: Sequence[Row], count: int) -> None:
    """Missed programs, of all kinds in turn."""
    missed = _grouped((row for row in rows if not row.is_found), lambda row: row.case.kind)
    queues = [iter(some) for _, some in sorted(missed.items())]
    print(f"\n{sum(map(len, missed.values()))} programs are missed:")
    while queues and count > 0:
        for queue in list(queues):
            row = next(queue, None)
            if row is None:
                queues.remove(queue)
            elif count > 0:
                count -= 1
                values = " ".join(f"{axis}={value}" for axis, value in row.case.values.items() if value != ABSENT)
                print(f"  {row.case.folder}: {values}\n    {row.case.file}:{row.case.line}: {row.case.error}")


def _switches(kinds: dict[str, list[Row]]) -> list[str]:
    """Of the kinds that are found, the values of axes with which they are found much less than with the others."""
    gaps: list[tuple[float, str]] = []
    for kind, rows in kinds.items():
        for axis in AXES:
            for value, some in _by_value(rows, axis).items():
                rest = [row for row in rows if row.case.values[axis] != value]
                if len(some) < _FEW or len(rest) < _FEW:
                    continue
                found, others = sum(row.is_found for row in some), sum(row.is_found for row in rest)
                gap = others / len(rest) - found / len(some)
                if gap >= _GAP:
                    gaps.append((gap, f"{kind}, {axis} {value}: {found} of {len(some)}; else {others} of {len(rest)}"))
    return [line for _, line in sorted(gaps, reverse=True)]


def _by_value(rows: Iterable[Row], axis: str) -> dict[str, list[Row]]:
    return _grouped(rows, lambda row: row.case.values[axis])


def _grouped(rows: Iterable[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)


def _shares(rows: Sequence[Row]) -> str:
    counts = (sum(getattr(row, name) for row in rows) for name in ("is_found", "is_repaired", "passes"))
    return " | ".join(_percent(count, len(rows)) for count in counts)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"
