"""What a replay says: of a file, of each of its fixes, of a run with nothing to judge, of a test suite."""

from dataclasses import dataclass
from pathlib import Path

from devfix_codemods.findings import Finding

from devfix.replay.backends import Backend
from devfix.replay.outcomes import Outcome
from devfix.replay.verdict_kinds import Kind, Verdict
from devfix.results import Cell


@dataclass(frozen=True, slots=True)
class FixResult:
    """What the replay says of one fix: the verdict on its file, unless its own lines never ran or it broke the others.

    `reason` is set where the fix did not hold.
    """

    finding: Finding
    kind: Kind
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Driver:
    """A program that devfix wrote, or was to write, to call a function.

    `text` is None where there is none. `step` is where it came no further; None where the verdict rests on it. `absent`
    are the packages with stand-ins, and `kept` is the file, where copies are kept. `lines` are the first and the last
    one, where it runs some of the function alone, and `left_out` the places of statements that cannot run where files
    of the project are imported.
    """

    function: str
    text: str | None = None
    step: str | None = None
    absent: tuple[str, ...] = ()
    kept: Path | None = None
    lines: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What the replay says of one changed file.

    `before` and `after` are None where nothing was run; `after` is with the fixes that hold, where some do. `holds` is
    the file with those, None where it is the file as it was; `withdrawn` are the findings whose fixes do not. `cells`
    are those of a notebook as it was. `harness` tells of the driver that was tried where nothing else ran the patch.
    """

    path: Path
    command: str
    on: str
    verdict: Verdict
    before: Outcome | None = None
    after: Outcome | None = None
    fixes: tuple[FixResult, ...] = ()
    kept: Path | None = None
    holds: bytes | None = None
    withdrawn: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()
    harness: Driver | None = None


@dataclass(frozen=True, slots=True)
class LoneRun:
    """A run of a program as it is, with nothing to judge."""

    path: Path
    command: str
    on: str
    outcome: Outcome
    kept: Path | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SuiteReplay:
    """A test suite as it is: its run where device errors show, that on the plain CPU, and the verdicts on fixes."""

    run: LoneRun
    plain: Outcome
    results: tuple[ReplayResult, ...] = ()


def notes_of(backend: Backend, *outcomes: Outcome) -> tuple[str, ...]:
    """What a reader ought to know of the runs."""
    notes = [backend.note] if backend.note is not None else []
    return tuple(dict.fromkeys([*notes, *(note for outcome in outcomes for note in outcome.notes)]))
