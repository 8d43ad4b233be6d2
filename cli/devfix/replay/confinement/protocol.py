"""What confining a command means to those who run commands."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Allowance:
    """What all processes of a confined run may use together.

    `memory`, in bytes, is what is resident at a time, `disk` what is added to the disk and `files` how many files and
    folders; `processes` live at a time. None is no limit.
    """

    processes: int = 256
    memory: int | None = None
    disk: int = 2 << 30
    files: int = 100_000
    network: bool = False

    @property
    def threads(self) -> int:
        """A numeric library starts one for each processor."""
        return 64 * self.processes


@dataclass(frozen=True, slots=True)
class Reach:
    """What a confined command can touch beside the system's programs and libraries.

    `folder` is where it starts. `writable` and `readable` are files and folders, seen under their own names; of two
    that contain each other the inner one counts. `devices` opens the accelerators.
    """

    folder: Path
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    devices: bool = False
    allowance: Allowance = Allowance()


class Confined(Protocol):
    """A command line that is confined, and what is known of it once it runs."""

    @property
    def arguments(self) -> Sequence[str]: ...

    @property
    def descriptors(self) -> Sequence[int]:
        """What the process has to inherit."""

    @property
    def private(self) -> Sequence[str]:
        """The folders that no other process has, by their names inside."""

    def started(self) -> None:
        """The process has inherited what it has to."""

    def look(self) -> None:
        """Learn what there is to know by now."""

    @property
    def first(self) -> int | None:
        """The first process inside, from which all others descend; None where nothing was started yet."""

    @property
    def code(self) -> int | None:
        """The exit status, negative for a signal; None where the command did not end by itself, or never started."""

    def kill(self, seconds: float) -> None:
        """End every process inside, and wait so long for it."""


class Confinement(Protocol):
    """How a command line becomes one that is confined."""

    def __hash__(self) -> int: ...

    def environment(self, network: bool = False) -> dict[str, str]:
        """What a confined command inherits, in place of our own environment; with a network also how to reach it."""

    def confine(self, command: Sequence[str], reach: Reach) -> AbstractContextManager[Confined]:
        """`command` confined to `reach`."""
