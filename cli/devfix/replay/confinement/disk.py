"""What a confined run writes, measured from outside."""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from devfix.replay.confinement.population import Population

_SHARE = 20
_EAGER_SHARE = 3
"""At least so many times as long as a look took passes before the next one; less where the disk fills up."""
_SECONDS = 2.0
_LOOK_SECONDS = 0.1
_PORTION = 8
"""The disk fills up where this part of what is allowed is gone since the last look."""


@dataclass(slots=True)
class _Use:
    """Bytes on the disk, and how many files and folders; `is_hidden` where some could not be looked into."""

    size: int = 0
    files: int = 0
    is_hidden: bool = False


class Written:
    """What has come to the folders `writable`, and to the private ones, in bytes and in files and folders.

    Large trees are not walked all the time: what the file system has left says when it is time.
    """

    def __init__(self, writable: Sequence[Path], size_limit: int, files_limit: int) -> None:
        self.size = 0
        self.files = 0
        self._writable = writable
        self._size_limit, self._files_limit = size_limit, files_limit
        self._before = self._use = self._measured(_Use())
        self._start = self._last = self._left()
        self._cost = 0.0
        self._looked = self._walked = time.monotonic()

    def look(self, population: Population, private: Sequence[str]) -> None:
        """Measure again, where it is time."""
        now = time.monotonic()
        if now < self._looked + _LOOK_SECONDS:
            return
        self._looked = now
        left = self._left()
        if now >= self._walked + self._pause(left):
            self._walk(population, left)
        scratch = _scratch(population, private)
        self.size = self._use.size - self._before.size + scratch.size
        self.files = self._use.files - self._before.files + scratch.files

    def _walk(self, population: Population, left: _Use) -> None:
        started = time.monotonic()
        use = self._measured(self._before)
        gone = self._start.size - left.size
        if gone > self._size_limit and use.size - self._before.size <= self._size_limit:
            use.size += gone if use.is_hidden else population.deleted(self._device())
        self._use, self._last, self._walked = use, left, time.monotonic()
        self._cost = self._walked - started

    def _pause(self, left: _Use) -> float:
        """How long after the last walk the next one comes."""
        fills_up = (
            self._last.size - left.size > self._size_limit / _PORTION
            or self._last.files - left.files > self._files_limit / _PORTION
        )
        return _EAGER_SHARE * self._cost if fills_up else max(_SECONDS, _SHARE * self._cost)

    def _left(self) -> _Use:
        """What the file systems have left."""
        left, seen = _Use(), set[int]()
        for path in self._writable:
            try:
                device, status = path.stat().st_dev, os.statvfs(path)
            except OSError:
                continue
            if device not in seen:
                seen.add(device)
                left.size += status.f_bfree * status.f_frsize
                left.files += status.f_ffree
        return left

    def _device(self) -> int:
        return self._writable[0].stat().st_dev if self._writable else 0

    def _measured(self, before: _Use) -> _Use:
        """What is in the folders; no more is counted than it takes to be over a limit."""
        use, linked = _Use(), set[int]()
        most_size, most_files = before.size + self._size_limit, before.files + self._files_limit
        for status in (each for path in self._writable for each in _walk(path, use)):
            use.files += 1
            if status.st_nlink == 1 or status.st_ino not in linked:
                use.size += 512 * status.st_blocks
            if status.st_nlink > 1:
                linked.add(status.st_ino)
            if before.files and (use.size > most_size or use.files > most_files):
                break
        return use


def _walk(top: Path, use: _Use) -> Iterator[os.stat_result]:
    """The status of `top` and of everything below; tells `use` of folders that cannot be read."""
    try:
        yield top.lstat()
    except OSError:
        return
    pending = [str(top)] if top.is_dir() else []
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        yield entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except FileNotFoundError:
            continue
        except OSError:
            use.is_hidden = True


def _scratch(population: Population, private: Sequence[str]) -> _Use:
    """What is in the private folders, which are file systems of their own."""
    use = _Use()
    for name in private:
        folder = Path(population.first_folder(name))
        try:
            if _is_of_machine(folder, Path(name)):
                continue
            status = os.statvfs(folder)
        except OSError:
            continue
        use.size += (status.f_blocks - status.f_bfree) * status.f_frsize
        use.files += status.f_files - status.f_ffree
    return use


def _is_of_machine(folder: Path, name: Path) -> bool:
    """Whether a folder is still the machine's own: it is until the sandbox is made."""
    return name.exists() and folder.stat().st_dev == name.stat().st_dev
