"""The verdicts of a replay, whatever was run."""

from dataclasses import dataclass
from enum import StrEnum

from devfix.replay.patches import Coverage
from devfix.results import Cell, told_line


class Kind(StrEnum):
    """The verdicts. A closed set."""

    CONFIRMED = "confirmed"
    CONDITIONAL = "conditional"
    """Confirmed under a condition that the project does not show, which the reason names. Drivers alone end with it."""
    HARMLESS = "harmless"
    NOT_REACHED = "not_reached"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`missed` are the first lines of patched statements that never ran: the verdict says nothing of those."""

    kind: Kind
    reason: str
    missed: tuple[int, ...] = ()

    @property
    def satisfied(self) -> bool:
        """Whether the replay vouches for the whole patch."""
        return self.kind in (Kind.CONFIRMED, Kind.HARMLESS) and not self.missed


def inconclusive(reason: str) -> Verdict:
    """The verdict where nothing was shown."""
    return Verdict(Kind.INCONCLUSIVE, reason)


def first_lines(coverage: Coverage) -> tuple[int, ...]:
    """Where the patched statements begin that never ran."""
    return tuple(place.first for place in coverage.missed)


def never_ran(lines: tuple[int, ...], cells: tuple[Cell, ...]) -> str:
    """What a verdict adds of patched lines that never ran; nothing where all did."""
    return f"; {numbered(lines, cells)} never ran" if lines else ""


def numbered(lines: tuple[int, ...], cells: tuple[Cell, ...]) -> str:
    """Lines in words; those of a notebook by the `cells` that they stand in."""
    if cells:
        return ", ".join(told_line(cells, line) for line in lines)
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
