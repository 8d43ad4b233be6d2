"""The originals of the last runs, kept so that `devfix undo` can bring them back.

A run's originals are on the disk before its first file is written. So a run that is killed half-way can be undone like
any other: a file that still is the original is simply left alone.
"""

import contextlib
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import platformdirs

from devfix.changes.writing import WriteError, sync_folder, temporary_of, write

RUNS_KEPT = 20
_HEADER = "run.msgpack"
_BLOBS = "originals"


class Saved(msgspec.Struct, frozen=True):
    """One file of a run: where its original lies among the run's originals, and digests of it and of the new text.

    `name` is its path as the system has it: msgpack keeps no text that is not valid Unicode.
    """

    name: bytes
    offset: int
    size: int
    before: str
    after: str

    @property
    def path(self) -> str:
        return os.fsdecode(self.name)


class _Header(msgspec.Struct, frozen=True):
    started: float
    files: tuple[Saved, ...]


@dataclass(frozen=True)
class Run:
    """A run that can be undone."""

    folder: Path
    started: float
    files: tuple[Saved, ...]

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def temporary(self) -> str:
        """The suffix of the files that this run prepares."""
        return f".{self.name}.devfix-tmp"

    def touches(self, folder: str) -> bool:
        prefix = folder.rstrip(os.sep) + os.sep
        return any(saved.path.startswith(prefix) for saved in self.files)

    def original(self, saved: Saved) -> bytes:
        with (self.folder / _BLOBS).open("rb") as file:
            file.seek(saved.offset)
            return file.read(saved.size)


@dataclass(frozen=True)
class Undone:
    """How one file came out of an undo: `refused` says why it was left alone, None where it is the original again."""

    path: str
    refused: str | None = None


def record(changes: Sequence[tuple[str, bytes, bytes]]) -> Run:
    """Save the originals of a run: (path, old bytes, new bytes) of each file. They are on the disk on return.

    Raises:
        OSError: they cannot be saved.
    """
    home = _home()
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    started = time.time()
    name = f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(started))}-{secrets.token_hex(3)}"
    building = home / f".{name}.building"
    building.mkdir(mode=0o700)
    try:
        files = tuple(_save_originals(building / _BLOBS, changes))
        _write_synced(building / _HEADER, msgspec.msgpack.encode(_Header(started, files)))
        sync_folder(str(building))
        building.rename(home / name)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    sync_folder(str(home))
    recorded = Run(home / name, started, files)
    _prune(recorded)
    return recorded


def runs(folder: str | None = None) -> list[Run]:
    """The runs that can be undone, the last one first; with `folder`, those that touched something below it."""
    found = [run for path in _home().glob("[0-9]*") if (run := _load(path)) is not None]
    found.sort(key=lambda run: run.started, reverse=True)
    return [run for run in found if folder is None or run.touches(folder)]


def forget(run: Run) -> None:
    """Drop a run's originals."""
    shutil.rmtree(run.folder, ignore_errors=True)


def undo(run: Run) -> list[Undone]:
    """Bring back every original of the run whose file nobody edited since. What is refused can be tried again."""
    outcomes = [_restore(run, saved) for saved in run.files]
    if not any(outcome.refused for outcome in outcomes):
        forget(run)
    return outcomes


def _restore(run: Run, saved: Saved) -> Undone:
    with contextlib.suppress(OSError):  # mostly there is none; one that stays does no harm
        Path(temporary_of(saved.path, run.temporary)).unlink()
    try:
        present = Path(saved.path).read_bytes()
    except OSError as error:
        return Undone(saved.path, f"cannot be read: {error.strerror}")
    now = _digest(present)
    if now == saved.before:
        return Undone(saved.path)
    if now != saved.after:
        return Undone(saved.path, "edited since")
    return Undone(saved.path, _put_back(run, saved, present))


def _put_back(run: Run, saved: Saved, present: bytes) -> str | None:
    """Why the original could not be put back, or None."""
    try:
        original = run.original(saved)
        if _digest(original) != saved.before:
            return "its saved original is damaged"
        write(saved.path, present, original, run.temporary)
    except OSError as error:
        return f"its saved original cannot be read: {error.strerror}"
    except WriteError as error:
        return str(error)
    return None


def _save_originals(location: Path, changes: Sequence[tuple[str, bytes, bytes]]) -> list[Saved]:
    saved: list[Saved] = []
    with location.open("wb") as file:
        for path, before, after in changes:
            saved.append(Saved(os.fsencode(path), file.tell(), len(before), _digest(before), _digest(after)))
            file.write(before)
        file.flush()
        os.fsync(file.fileno())
    return saved


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _load(folder: Path) -> Run | None:
    try:
        header = msgspec.msgpack.decode((folder / _HEADER).read_bytes(), type=_Header)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return Run(folder, header.started, header.files)


def _prune(recorded: Run) -> None:
    """Forget the oldest runs, but never the one that was just recorded: a clock may have been set back."""
    for run in runs()[RUNS_KEPT:]:
        if run.folder != recorded.folder:
            forget(run)


def _home() -> Path:
    return Path(platformdirs.user_state_dir("devfix")) / "runs"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
