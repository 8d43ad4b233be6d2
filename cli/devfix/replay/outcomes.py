"""How one run of a script ended, as frozen data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from devfix.replay.notebooks import Lines
from devfix.replay.postmortem import PostMortem


class Ending(StrEnum):
    """The ways a run can end. A closed set."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    OVERRAN = "went over a limit"
    KILLED = "killed"
    NOT_STARTED = "could not start"


@dataclass(frozen=True, slots=True)
class ScriptError:
    """The exception that ended a script.

    `message` is its first line, or for a device error the line that names it. `file` and `line` are those of the
    innermost frame inside the script's tree (`file` relative to the tree, None where no frame is inside it). In a
    notebook, whose program's lines are counted, `cell` is the number of the cell and the line in it.
    """

    type: str
    message: str
    file: str | None = None
    line: int | None = None
    is_device_error: bool = False
    cell: tuple[int, int] | None = None

    @property
    def told(self) -> str:
        """The type and the place in words."""
        if self.file is None:
            return f"{self.type} outside the tree"
        return f"{self.type} at {told_place(self.file, self.line, self.cell)}"


@dataclass(frozen=True, slots=True)
class Deprecation:
    """A `FutureWarning` or `DeprecationWarning`, by its first line and the innermost line of the tree.

    `cell` is as in `ScriptError`.
    """

    category: str
    message: str
    file: str
    line: int
    cell: tuple[int, int] | None = None

    @property
    def where(self) -> str:
        return told_place(self.file, self.line, self.cell)


def told_place(file: str, line: int | None, cell: tuple[int, int] | None = None) -> str:
    """`train.py:21`, or in a notebook `train.ipynb:cell 3:4`."""
    if cell is not None:
        return f"{file}:cell {cell[0]}:{cell[1]}"
    return file if line is None else f"{file}:{line}"


@dataclass(frozen=True, slots=True)
class Output:
    """What a stream carried: its first part, its last part, and how many bytes there were in all."""

    head: str = ""
    tail: str = ""
    size: int = 0


PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class SuiteTest:
    """How a test ended: `outcome` is one of the three above.

    `cause` is whose the code is that failed, the `library`'s or the `tests`'; None where it is neither's. `gap` is what
    it met that is not simulated, and `lines` are the watched lines, with their files, that it ran.
    """

    id: str
    outcome: str
    seconds: float = 0.0
    error: ScriptError | None = None
    cause: str | None = None
    gap: str | None = None
    lines: frozenset[tuple[str, int]] = frozenset()
    postmortem: PostMortem | None = None

    @property
    def passed(self) -> bool:
        return self.outcome == PASSED

    @property
    def failed(self) -> bool:
        return self.outcome == FAILED

    @property
    def wants_device(self) -> bool:
        """Whether it could not be seen on the plain CPU: it was skipped, or asked for a device that is not there."""
        if self.failed:
            return self.error is not None and self.error.is_device_error
        return self.outcome == SKIPPED

    @property
    def reveals(self) -> ScriptError | None:
        """The device error of the library with which it failed."""
        is_of_library = self.failed and self.gap is None and self.cause == LIBRARY
        return self.error if is_of_library and self.error is not None and self.error.is_device_error else None


@dataclass(frozen=True)
class SuiteRun:
    """The tests of one run by their ids, in the order in which they ran.

    `collected` is how many there are, None where pytest did not come so far; `uncollected` are the files that could not
    be imported, as tests that failed. `interrupted` is the test in which the run ended.
    """

    tests: Mapping[str, SuiteTest] = field(default_factory=dict)
    collected: int | None = None
    uncollected: Mapping[str, SuiteTest] = field(default_factory=dict)
    interrupted: str | None = None

    @property
    def all(self) -> Iterator[SuiteTest]:
        """Every result, those of files that could not be imported first."""
        yield from self.uncollected.values()
        yield from self.tests.values()

    def find(self, test: str) -> SuiteTest | None:
        """How a test ended: where its file could not be imported, as that did."""
        found = self.tests.get(test)
        if found is not None:
            return found
        return next((one for file, one in self.uncollected.items() if is_of(test, file)), None)


def is_of(test: str, collector: str) -> bool:
    """Whether a test is in the file or the class with that id."""
    return test.startswith((f"{collector}::", f"{collector}/"))


@dataclass(frozen=True, slots=True)
class FoundDriver:
    """What a search for a driver came to: its text, None where it runs no patched line.

    `step` is where it stops short of its end or of the patched lines, and `why`; None where it does not. `absent` are
    the packages with stand-ins, and `reached` the patched lines that it runs; with `is_inert` one of these works on a
    stand-in. Of a `part` of a function or file the first and last line run alone. `left_out` are the places of
    statements that cannot run where files of the project are imported, `path.py:12`.
    """

    text: str | None
    step: str | None = None
    why: str = ""
    absent: tuple[str, ...] = ()
    reached: tuple[int, ...] = ()
    is_inert: bool = False
    part: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()


_BUSY = 0.5
"""A run that takes less of a processor than that waits for something else."""
_OF_ITS_OWN = frozenset(
    (
        *("ModuleNotFoundError", "ImportError", "SyntaxError", "IndentationError", "NameError", "AttributeError"),
        *("TypeError", "KeyError", "FileNotFoundError", "EOFError", "NotSimulated"),
    )
)
"""Errors that a script makes whatever runs beside it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was seen of one run.

    `status` is the exit status, None where there is none; `signal` names the signal that killed the process. `reason`
    says why a run could not start, or which limit it went over. `peak_memory` is in bytes. `reached` holds (file, line)
    for each watched line that ran, and `loaded` the files of the tree that were imported. `losses` are the values on
    which `backward` was called, in order. `stopped_after` is the number of optimizer steps after which we ended the
    script, None where it ended itself. `warnings` are those of deprecations. `not_simulated` is what the simulated
    accelerator could not do, `notes` what it did in another way. `postmortem` tells what was in reach when the script
    crashed with a device error, `audit` what an audited run had where: see `auditing`. `processor_seconds` are those of
    all its processes, and `shared` is something outside of its copy that runs beside it could see.
    `suite` tells of each test, where pytest was what ran; the error is then the first device error of the library.
    `notebook` is how the lines of the notebook that ran are counted, None for a script. `driver` and `parts`
    are what was searched for, where that was the run. `frames` are the files and lines of the tree that the error came
    by.
    """

    ending: Ending
    seconds: float = 0.0
    status: int | None = None
    signal: str | None = None
    reason: str | None = None
    peak_memory: int | None = None
    error: ScriptError | None = None
    stdout: Output = Output()
    stderr: Output = Output()
    reached: frozenset[tuple[str, int]] = frozenset()
    loaded: frozenset[str] = frozenset()
    losses: tuple[float, ...] = ()
    stopped_after: int | None = None
    warnings: tuple[Deprecation, ...] = ()
    not_simulated: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    postmortem: PostMortem | None = None
    audit: Mapping[str, Any] | None = None
    processor_seconds: float = 0.0
    shared: str | None = None
    suite: SuiteRun | None = None
    notebook: Lines | None = None
    driver: FoundDriver | None = None
    parts: tuple[FoundDriver, ...] = ()
    frames: tuple[tuple[str, int], ...] = ()

    @property
    def passed(self) -> bool:
        return self.ending is Ending.PASSED

    @property
    def was_cut(self) -> bool:
        """Whether the run was ended from outside before its end could be seen."""
        return self.ending in (Ending.TIMED_OUT, Ending.OVERRAN)

    @property
    def may_be_disturbed(self) -> bool:
        """Whether a run beside it may have to do with how it went."""
        if self.suite is not None and not self.passed:
            return self.shared is not None and self.ending is Ending.FAILED  # of one that was cut the first tests count
        if self.shared is not None:
            return True
        if self.ending is Ending.TIMED_OUT:
            return self.processor_seconds > self.seconds * _BUSY
        if self.passed or self.device_error is not None:
            return False
        return self.error is None or self.error.type not in _OF_ITS_OWN

    @property
    def device_error(self) -> ScriptError | None:
        """The error, where the script failed with one that is about devices."""
        return self.error if self.error is not None and self.error.is_device_error else None

    @property
    def failure(self) -> str:
        """What went wrong, in a few words that fit after "failed with"."""
        if self.error is not None:
            return f"{self.error.told}: {self.error.message}"
        if self.signal is not None:
            return f"signal {self.signal}"
        return self.reason or f"exit status {self.status}"


def not_started(reason: str) -> Outcome:
    """The outcome of a run that never began."""
    return Outcome(Ending.NOT_STARTED, reason=reason)
