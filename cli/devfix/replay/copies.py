"""Copies of trees: what is to be copied, and a copy that is made once and put right again before each run.

A run may change whatever it likes of its copy. What it has changed is known by the status of each file: the kernel sets
the time of the last change of a status, which no program can choose.
"""

import contextlib
import mmap
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

_CHUNK = 1 << 20
_FICLONE = 0x40049409  # linux/fs.h: share the blocks of another file until one of the two is written


@dataclass(frozen=True, slots=True)
class Plan:
    """What to copy, relative to the root: folders, files, and symbolic links with their targets."""

    folders: list[Path] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    links: list[tuple[Path, Path]] = field(default_factory=list)
    left_out: dict[Path, str] = field(default_factory=dict)


class Copy:
    """A copy at `root` of what is planned of the tree `original`."""

    def __init__(self, original: Path, plan: Plan, root: Path) -> None:
        self.root = root
        self._original = original
        self._plan = plan
        self._links = {str(link): os.path.relpath(target, link.parent) for link, target in plan.links}
        self._tells = False
        self._made: dict[str, _Status | None] = {}
        """Files and folders as they were when they were made, by their path below the root."""

    def restore(self, files: Mapping[Path, bytes | None]) -> None:
        """Make the copy what the original was, with these `files` in it: None is no file.

        Raises:
            OSError: a file could not be read or written.
        """
        if not self._tells or self._made.get("") != _of_folder(self.root):
            self._begin()
        self._add_all_but(self._kept())
        for path, data in files.items():
            _put(self.root / path, data)
            self._made.pop(str(path), None)
        _let_time_pass()

    def _begin(self) -> None:
        remove(self.root)
        self.root.mkdir(parents=True)
        self._tells = _tells_of_all_writes(self.root)
        self._made = {"": _of_folder(self.root)}

    def _kept(self) -> set[str]:
        """What is as it was made; the rest is removed."""
        kept, pending = set[str](), [""]
        while pending:
            folder = pending.pop()
            for entry in list(os.scandir(self.root / folder)):
                name = f"{folder}{os.sep}{entry.name}" if folder else entry.name
                if not self._stands(name, entry):
                    remove(Path(entry.path))
                    continue
                kept.add(name)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(name)
        return kept

    def _stands(self, name: str, entry: os.DirEntry[str]) -> bool:
        if entry.is_symlink():
            return self._links.get(name) == str(Path(entry.path).readlink())
        is_folder = entry.is_dir(follow_symlinks=False)
        return self._made.get(name) == _Status.of(entry.stat(follow_symlinks=False), is_folder)

    def _add_all_but(self, kept: Set[str]) -> None:
        for folder in (str(folder) for folder in self._plan.folders if str(folder) not in kept):
            (self.root / folder).mkdir()
            self._made[folder] = _of_folder(self.root / folder)
        for file in (str(file) for file in self._plan.files if str(file) not in kept):
            self._made[file] = _Status.of(_copied(self._original / file, self.root / file))
        for link in self._links.keys() - kept:
            (self.root / link).symlink_to(self._links[link])


class _Status(NamedTuple):
    """What tells a file from what was made of it; of a folder, in which others come and go, only what it is itself."""

    number: int
    mode: int
    changed: int = 0

    @classmethod
    def of(cls, status: os.stat_result, is_folder: bool = False) -> Self:
        return cls(status.st_ino, status.st_mode, 0 if is_folder else status.st_ctime_ns)


def _of_folder(path: Path) -> _Status | None:
    """Its status; None where it is gone."""
    try:
        return _Status.of(path.lstat(), is_folder=True)
    except OSError:
        return None


def _let_time_pass() -> None:
    """Until what is written from now on gets another time than what was written before."""
    if hasattr(time, "CLOCK_REALTIME_COARSE"):
        now = time.clock_gettime_ns(time.CLOCK_REALTIME_COARSE)
        while time.clock_gettime_ns(time.CLOCK_REALTIME_COARSE) == now:
            time.sleep(0.0005)


def _tells_of_all_writes(folder: Path) -> bool:
    """Whether the status of a file tells that it was written to through memory; in some file systems it does not."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"before")
        file.flush()
        before = os.fstat(file.fileno()).st_ctime_ns
        _let_time_pass()
        with mmap.mmap(file.fileno(), 0) as memory:
            memory[0] = 0
        return os.fstat(file.fileno()).st_ctime_ns != before


def can_clone(folder: Path) -> bool:
    """Whether files there can be copied without their blocks."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        source, target = Path(scratch, "source"), Path(scratch, "target")
        source.write_bytes(b"blocks")
        with source.open("rb") as reader, target.open("wb") as writer:
            return _cloned(reader.fileno(), writer.fileno())


def _put(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _copied(source: Path, target: Path) -> os.stat_result:
    """Copy a file, and answer the status of the copy."""
    with source.open("rb", buffering=0) as reader, target.open("xb", buffering=0) as writer:
        if not _cloned(reader.fileno(), writer.fileno()):
            shutil.copyfileobj(reader, writer, _CHUNK)
        # Writable, whatever the original is: the script may replace its own files, and the copy must be removable.
        mode = stat.S_IMODE(os.fstat(reader.fileno()).st_mode) | stat.S_IRUSR | stat.S_IWUSR
        os.fchmod(writer.fileno(), mode)
        return os.fstat(writer.fileno())


def _cloned(source: int, target: int) -> bool:
    """Copy by sharing blocks, where the file system can."""
    if sys.platform != "linux":
        return False
    import fcntl

    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:
        return False
    return True


def remove(*paths: Path) -> None:
    """Remove files, and folders with all that is in them. What is linked to stays."""
    for path in paths:
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
            continue
        with contextlib.suppress(RecursionError):
            shutil.rmtree(path, ignore_errors=True)
        if os.path.lexists(path):
            # A script may have closed its folders, or nested them deeper than Python's own functions go.
            for command in (("chmod", "-R", "u+rwX"), ("rm", "-rf")):
                subprocess.run([*command, "--", path], stdin=subprocess.DEVNULL, capture_output=True, check=False)
