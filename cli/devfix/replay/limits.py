"""What a run may print, write and use; whoever goes over a limit is ended, and told which."""

import contextlib
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from devfix.replay.confinement import Allowance, Confined, Reach
from devfix.replay.confinement.disk import Written
from devfix.replay.confinement.population import Population
from devfix.replay.streams import Stream
from devfix.replay.workspace import readable

DISK_RESERVE = 256 << 20
"""A run is ended when the disk that its copy is on has less than this left, in bytes."""
_DISK_SECONDS = 1.0


class Limits:
    """The limits of one run. `passed` says, in words, which one it went over.

    What all processes use together is known of those that are confined.
    """

    def __init__(
        self,
        scratch: Path,
        output: int | None,
        streams: Sequence[Stream],
        confined: Confined | None = None,
        reach: Reach | None = None,
    ) -> None:
        self.passed: str | None = None
        self._output = output
        self._streams = streams
        self._scratch = scratch
        self._watches_disk = shutil.disk_usage(scratch).free > 2 * DISK_RESERVE
        self._next_look = 0.0
        self._together = Together(confined, reach) if confined is not None and reach is not None else None

    def look(self) -> None:
        """See how far the run has gone."""
        self.passed = next(self._over(), None)

    def _over(self) -> Iterator[str]:
        if self._output is not None and sum(stream.size for stream in self._streams) > self._output:
            yield f"printed more than {readable(self._output)}"
        if self._together is not None:
            yield from self._together.over()
        if self._watches_disk and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _DISK_SECONDS
            with contextlib.suppress(OSError):  # the script may remove its own folder
                if shutil.disk_usage(self._scratch).free < DISK_RESERVE:
                    yield "filled the disk"


class Together:
    """What the processes of a confined run use together, held against their allowance."""

    def __init__(self, confined: Confined, reach: Reach) -> None:
        self._confined = confined
        self._allowance: Allowance = reach.allowance
        self._written = Written(reach.writable, reach.allowance.disk, reach.allowance.files)
        self._population: Population | None = None

    def over(self) -> Iterator[str]:
        """The limits that are passed."""
        self._confined.look()
        if self._confined.first is None:
            return
        if self._population is None:
            self._population = Population(self._confined.first)
        yield from self._crowd(self._population)
        yield from self._disk(self._population)

    def _crowd(self, population: Population) -> Iterator[str]:
        allowed = self._allowance
        population.look()
        if population.processes > allowed.processes:
            yield f"had more than {allowed.processes} processes"
        if population.threads > allowed.threads:
            yield f"had more than {allowed.threads} threads"
        if allowed.memory is not None and population.uses_more_memory_than(allowed.memory):
            yield f"used more than {readable(allowed.memory)} of memory"

    def _disk(self, population: Population) -> Iterator[str]:
        self._written.look(population, self._confined.private)
        if self._written.size > self._allowance.disk:
            yield f"wrote more than {readable(self._allowance.disk)}"
        if self._written.files > self._allowance.files:
            yield f"made more than {self._allowance.files} files"
