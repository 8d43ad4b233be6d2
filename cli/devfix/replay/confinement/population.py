"""The processes of a confined run, counted from outside.

Limits of the kernel do not do: that on processes does not bind root and counts threads, and the others hold for one
process. What a process says of itself in /proc/PID/stat can be read whatever it does to its own permissions.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SHARE = 15
"""At least so many times as long as a look took passes before the next one."""


@dataclass(frozen=True, slots=True)
class _Process:
    """From proc_pid_stat(5). `resident` is in bytes."""

    parent: int
    threads: int
    resident: int


class Population:
    """All descendants of the process `first`, which adopts their orphans, and is not counted itself."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._inside = {first}
        self._outside: set[int] = set()
        self._members: dict[int, _Process] = {}
        self._next_look = 0.0

    def look(self) -> None:
        """Count again, unless that was just done."""
        started = time.monotonic()
        if started < self._next_look:
            return
        with os.scandir("/proc") as entries:
            everyone = {int(entry.name) for entry in entries if entry.name.isdigit()}
        self._inside &= everyone | {self._first}
        self._outside &= everyone
        for process in everyone - self._inside - self._outside:
            self._place(process)
        told = {process: _stat(process) for process in self._inside - {self._first}}
        self._members = {process: stat for process, stat in told.items() if stat is not None}
        ended = time.monotonic()
        self._next_look = ended + _SHARE * (ended - started)

    @property
    def processes(self) -> int:
        return len(self._members)

    @property
    def threads(self) -> int:
        return sum(each.threads for each in self._members.values())

    def uses_more_memory_than(self, limit: int) -> bool:
        """Whether more is resident; pages that processes share count once.

        They are read one after the other. Where some end meanwhile, those read later have the shares of these as well,
        and the sum is too large: it has to be so twice.
        """
        if sum(each.resident for each in self._members.values()) <= limit:
            return False
        return all(self._resident() > limit for _ in range(2))

    def first_folder(self, name: str) -> str:
        """A folder of those inside, by its name there."""
        return f"/proc/{self._first}/root{name}"

    def deleted(self, device: int) -> int:
        """The bytes of files on that device that were deleted and are still open."""
        sizes: dict[int, int] = {}
        for process in self._members:
            for status in _open_files(process):
                if status.st_dev == device and not status.st_nlink:
                    sizes[status.st_ino] = 512 * status.st_blocks
        return sum(sizes.values())

    def _resident(self) -> int:
        """Bytes, with shared pages divided among those who share them."""
        return sum(_proportional(process, each.resident) for process, each in self._members.items())

    def _place(self, process: int) -> None:
        """Tell whether a new process is inside: then its parent is.

        Where one of them ends meanwhile, another process has its children: they are told at the next look.
        """
        line: list[int] = []
        at = process
        while at and at not in self._inside and at not in self._outside:
            line.append(at)
            stat = _stat(at)
            if stat is None or stat.parent in line:
                return
            at = stat.parent
        (self._inside if at in self._inside else self._outside).update(line)


def _stat(process: int) -> _Process | None:
    try:
        text = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return None
    fields = text.rpartition(b")")[2].split()
    return _Process(int(fields[1]), int(fields[17]), int(fields[21]) * os.sysconf("SC_PAGE_SIZE"))


def _proportional(process: int, otherwise: int) -> int:
    """What is resident of one process, with its part of what it shares; `otherwise` where that is not told."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except PermissionError:
        return otherwise
    except OSError:
        return 0  # it has ended
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _open_files(process: int) -> Iterator[os.stat_result]:
    with contextlib.suppress(OSError):
        for path in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                yield path.stat()
