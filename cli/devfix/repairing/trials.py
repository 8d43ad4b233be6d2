"""Runs of the patched copy, and whether a candidate makes progress.

Progress is made where the error is gone, or has moved further on: to a later line, or to another operand of the same
line. The patched lines have to run. An error of another kind is no progress.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from devfix_codemods.diagnosis import Diagnosis
from devfix_codemods.source import Source

from devfix.replay.backends import Backend
from devfix.replay.outcomes import Ending, Outcome
from devfix.replay.patches import Patch
from devfix.replay.postmortem import BatchValue, ModuleValue, OptimizerValue, OtherValue, TensorValue, Value
from devfix.replay.programs import Program
from devfix.replay.stage import Stage
from devfix.replay.workspace import Workspace

_LARGE = 1 << 20
"""Files of so many bytes are not searched."""
_MANY = 2_000
"""How many files are searched."""


class Bench:
    """One program, and the copies of its tree in which candidates are tried."""

    def __init__(self, stage: Stage, program: Program) -> None:
        self._stage = stage
        self._program = program
        self.sources: Mapping[str, Source] = _Sources(stage.workspace)

    def run(
        self, step: str, backend: Backend, files: Mapping[str, bytes], watch: Mapping[str, Sequence[int]] | None = None
    ) -> Outcome:
        """Run the program with `files` in the place of the originals, in a fresh copy; `step` is what to call it."""
        return self._stage.run(self._program, step, backend, {Path(file): data for file, data in files.items()}, watch)

    @property
    def command(self) -> str:
        """The command as one would type it."""
        return self._stage.command(self._program)


class _Sources(Mapping[str, Source]):
    """The Python files of a tree by their relative paths, read when asked for.

    Who goes through them meets only small files, and not too many. The others can be asked for by their path.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._root = workspace.original
        small = (one for one in workspace.files if one.suffix == ".py" and (self._root / one).stat().st_size < _LARGE)
        self._files = tuple(one.as_posix() for one in itertools.islice(small, _MANY))

    def __getitem__(self, file: str) -> Source:
        path = self._root / file
        if not file.endswith(".py") or ".." in Path(file).parts or not path.is_file():
            raise KeyError(file)
        return Source(file, path.read_bytes())

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


@dataclass(frozen=True)
class Overlay(Mapping[str, Source]):
    """`sources` with some files in another state."""

    sources: Mapping[str, Source]
    files: Mapping[str, bytes]

    def __getitem__(self, file: str) -> Source:
        return Source(file, self.files[file]) if file in self.files else self.sources[file]

    def __iter__(self) -> Iterator[str]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)


class Progress(Enum):
    """What a candidate brought. A closed set."""

    GONE = "the error is gone"
    FURTHER = "the next error is further on"
    OTHER = "the error is gone, but then the script fails otherwise"
    NONE = "no progress"


@dataclass(frozen=True)
class Judgement:
    progress: Progress
    reason: str


@dataclass(frozen=True)
class Trial:
    """One candidate: the files before and after it, and the runs of both."""

    before: Outcome
    after: Outcome
    diagnosis: Diagnosis
    patches: Mapping[str, Patch]

    def judgement(self) -> Judgement:
        """Whether the candidate is worth keeping, and why."""
        if self.after.ending is Ending.NOT_STARTED:
            return Judgement(Progress.NONE, self.after.reason or "could not start")
        if not self._patch_ran:
            return Judgement(Progress.NONE, "none of the patched lines ran")
        if self.after.passed:
            return Judgement(Progress.GONE, "it then runs to its end")
        if self.after.ending is Ending.TIMED_OUT and self.after.error is None:
            if self._passed_the_crash:
                return Judgement(Progress.GONE, "it then runs until the time limit")
            return Judgement(Progress.NONE, "it then does not come that far within the time limit")
        if self.after.device_error is None:
            return self._otherwise()
        return self._other_error()

    @property
    def _patch_ran(self) -> bool:
        return any(
            patch.coverage({line for name, line in self.after.reached if name == file}).reached
            for file, patch in self.patches.items()
        )

    @property
    def _crash_line_after(self) -> tuple[str, int] | None:
        """Where the line of the crash is now; None where the candidate patched that very line."""
        return moved(self.patches, self.diagnosis.sink.file, self._crash_line_before)

    @property
    def _crash_line_before(self) -> int:
        error = self.before.error
        return error.line if error is not None and error.line is not None else self.diagnosis.sink.span.line

    @property
    def _passed_the_crash(self) -> bool:
        where = self._crash_line_after
        if where is not None:
            return where in self.after.reached
        file = self.diagnosis.sink.file
        ran = {line for name, line in self.after.reached if name == file}
        return self.patches[file].ran_in_place_of(self._crash_line_before, ran)

    def _otherwise(self) -> Judgement:
        error, failure = self.after.error, self.after.failure
        if error is None or error.file is None or error.line is None:
            return Judgement(Progress.NONE, f"it then ends with {failure}")
        patch = self.patches.get(error.file)
        broken = patch is not None and patch.is_patched(error.line)
        if broken or (error.file, error.line) == self._crash_line_after or not self._passed_the_crash:
            return Judgement(Progress.NONE, f"it then fails with {failure}")
        return Judgement(Progress.OTHER, f"it then fails with {failure}, which is no device error")

    def _other_error(self) -> Judgement:
        error = self.after.error
        assert error is not None
        told = f"{error.told}: {error.message}"
        if len(self.after.losses) < len(self.before.losses):
            return Judgement(Progress.NONE, f"it then fails earlier, with {told}")
        if error.file is not None and self._is_crash_line(error.file, error.line):
            if len(self.after.losses) > len(self.before.losses) or self._other_operands:
                return Judgement(Progress.FURTHER, f"the next is {told}")
            return Judgement(Progress.NONE, f"it still fails there: {error.message}")
        if not self._passed_the_crash:
            return Judgement(Progress.NONE, f"it then fails earlier, with {told}")
        return Judgement(Progress.FURTHER, f"the next is {told}")

    def _is_crash_line(self, file: str, line: int | None) -> bool:
        where = self._crash_line_after
        if where is not None:
            return where == (file, line)
        patch = self.patches.get(file)
        return file == self.diagnosis.sink.file and patch is not None and line is not None and patch.is_patched(line)

    @property
    def _other_operands(self) -> bool:
        """Whether other operands are blamed now than before."""
        before, after = self.before.postmortem, self.after.postmortem
        if before is None or after is None:
            return before is None and after is None and _message(self.before) != _message(self.after)
        old, new = _blamed(before.culprits), _blamed(after.culprits)
        return new != old and (after.message != before.message or not old <= new)


def _message(outcome: Outcome) -> str | None:
    return None if outcome.error is None else outcome.error.message


def _blamed(values: Sequence[Value]) -> set[tuple[str, str]]:
    return {(value.expression, _places(value)) for value in values}


def _places(value: Value) -> str:
    """Where a value and its parts are, as a text that tells two states of it apart."""
    match value:
        case TensorValue():
            return value.facts.place
        case ModuleValue() | OptimizerValue():
            return str(sorted(value.places))
        case BatchValue():
            return str([(item.name, item.facts.place) for item in value.items])
        case OtherValue():
            return value.place
    return ""


def moved(patches: Mapping[str, Patch], file: str, line: int) -> tuple[str, int] | None:
    """Where a line of the files before is in those after; None where it was patched."""
    patch = patches.get(file)
    if patch is None:
        return (file, line)
    target = patch.moved(line)
    return None if target is None else (file, target)


def watched(patches: Mapping[str, Patch], crash: tuple[str, int] | None) -> dict[str, list[int]]:
    """The lines to watch: the patched ones, and the one that crashed."""
    lines = {file: set(patch.watched) for file, patch in patches.items()}
    if crash is not None:
        lines.setdefault(crash[0], set()).add(crash[1])
    return {file: sorted(numbers) for file, numbers in lines.items()}
