"""What earlier runs found, so that an unchanged file is not read again.

One file for each project, in the user's cache folder. An entry holds as long as the file's time and size are the same,
or its content is, and the same rules, options and version of devfix ask. A cache that cannot be read or written is no
cache: it is rebuilt, or done without.
"""

import contextlib
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import devfix_codemods
import msgspec
import platformdirs

import devfix
from devfix.project.ignore import repository_of
from devfix.project.import_graph import Basis, Stamp
from devfix.project.settings import Choice
from devfix.project.snapshots import Snapshot
from devfix.results import Problem
from devfix.rules import plugins

_FORMAT = 4
_MOST_ENTRIES = 100_000
_MOST_SNAPSHOTS = 8
_SETTLED_NS = 2_000_000_000
"""A file changed less than this before it was read could change again without its time changing: then only its
content is believed."""


class Entry(msgspec.Struct, array_like=True):
    """What is known of one file. `content` is a digest, empty where nothing in the file could concern a rule.

    `basis` is what it rests on besides, or None where no other file could change what was found; `snapshot` tells under
    which snapshot it was last seen to hold.
    """

    mtime_ns: int
    size: int
    choice: bytes
    content: bytes = b""
    problems: tuple[Problem, ...] = ()
    ignored: int = 0
    skipped: str | None = None
    basis: Basis | None = None
    snapshot: bytes = b""


class _Book(msgspec.Struct, array_like=True):
    format: int = _FORMAT
    fingerprint: bytes = b""
    entries: dict[bytes, Entry] = {}
    stamps: dict[bytes, Stamp] = {}
    snapshots: dict[bytes, Snapshot] = {}


class Cache:
    """The entries of one project, by path."""

    def __init__(self, location: Path | None) -> None:
        self._location = location
        book = _load(location) if location else _Book()
        self._entries, self._stamps, self._snapshots = book.entries, book.stamps, book.snapshots
        self._opened_ns = time.time_ns()
        self._dirty = False

    def by_time(self, path: str, mtime_ns: int, size: int, choice: Choice) -> Entry | None:
        """The entry of a file that looks untouched."""
        entry = self._entries.get(os.fsencode(path))
        if entry is None or entry.mtime_ns != mtime_ns or entry.size != size or entry.choice != _digest_of(choice):
            return None
        return entry

    def by_content(self, path: str, data: bytes, mtime_ns: int, choice: Choice) -> Entry | None:
        """The entry of a file that was touched and is the same. From now on it is known by its new time."""
        entry = self._entries.get(os.fsencode(path))
        if entry is None or not entry.content or entry.choice != _digest_of(choice) or entry.content != _digest(data):
            return None
        entry.mtime_ns, self._dirty = self._settled(mtime_ns), True
        return entry

    def keep_clean(self, path: str, mtime_ns: int, size: int, choice: Choice) -> None:
        """Remember that nothing in the file can concern a rule."""
        self._keep(path, Entry(self._settled(mtime_ns), size, _digest_of(choice)))

    def keep(
        self,
        path: str,
        data: bytes,
        mtime_ns: int,
        choice: Choice,
        found: tuple[Problem, ...] = (),
        ignored: int = 0,
        skipped: str | None = None,
        basis: Basis | None = None,
    ) -> None:
        """Remember what the analysis of `data` gave."""
        times = (self._settled(mtime_ns), len(data))
        self._keep(path, Entry(*times, _digest_of(choice), _digest(data), found, ignored, skipped, basis))

    @property
    def stamps(self) -> Mapping[str, Stamp]:
        """What the files of earlier runs imported, by path."""
        return {os.fsdecode(path): stamp for path, stamp in self._stamps.items()}

    def keep_stamps(self, stamps: Mapping[str, Stamp]) -> None:
        """Remember what files import, where they will not change again unnoticed."""
        for path, stamp in stamps.items():
            name = os.fsencode(path)
            if self._settled(stamp.mtime_ns) != -1 and self._stamps.get(name) != stamp:
                self._stamps[name] = stamp
                self._dirty = True

    def snapshot(self, paths: Iterable[str]) -> Snapshot | None:
        """What the last run over just these files looked at."""
        return self._snapshots.get(_digest_of_paths(paths))

    def keep_snapshot(self, paths: Iterable[str], snapshot: Snapshot, resting: Iterable[str]) -> None:
        """Remember what a run over `paths` looked at, and the files whose bases were seen to hold under it."""
        if self._location is None or not snapshot.is_older_than(self._opened_ns - _SETTLED_NS):
            return
        name, key = snapshot.name, _digest_of_paths(paths)
        for path in resting:
            if (entry := self._entries.get(os.fsencode(path))) is not None:
                entry.snapshot = name
        self._snapshots.pop(key, None)
        self._snapshots[key] = snapshot
        self._dirty = True

    def save(self) -> None:
        """Write the cache, whole or not at all. Of two runs at once the later one's stays."""
        if self._location is None or not self._dirty:
            return
        entries = dict(list(self._entries.items())[-_MOST_ENTRIES:])
        stamps = dict(list(self._stamps.items())[-_MOST_ENTRIES:])
        snapshots = dict(list(self._snapshots.items())[-_MOST_SNAPSHOTS:])
        data = msgspec.msgpack.encode(_Book(_FORMAT, fingerprint(), entries, stamps, snapshots))
        with contextlib.suppress(OSError):
            _replace(self._location, data)

    def _settled(self, mtime_ns: int) -> int:
        return mtime_ns if self._opened_ns - mtime_ns > _SETTLED_NS else -1

    def _keep(self, path: str, entry: Entry) -> None:
        if self._location is not None:
            name = os.fsencode(path)
            self._entries.pop(name, None)
            self._entries[name] = entry
            self._dirty = True


def cache_for(folder: str) -> Cache:
    """The cache of the project around `folder`."""
    root = os.path.realpath(repository_of(folder) or folder)
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
    return Cache(Path(platformdirs.user_cache_dir("devfix")) / f"{name}.msgpack")


def no_cache() -> Cache:
    """A cache that knows nothing and keeps nothing."""
    return Cache(None)


def fingerprint() -> bytes:
    """Changes whenever the code that produces findings does, that of plug-ins included."""
    parts = [devfix.__version__, sys.version, *_own_stamps()]
    for plugin in plugins.in_use():
        parts += [plugin.title, *(stamp for place in plugin.places() for stamp in _stamps(place))]
    return _digest("\n".join(parts).encode())


@cache
def _own_stamps() -> list[str]:
    return [stamp for package in (devfix_codemods, devfix) for place in package.__path__ for stamp in _stamps(place)]


def _stamps(place: str) -> list[str]:
    """The times and sizes of the Python files in a folder, or of one file."""
    if Path(place).is_file():
        return [_stamp(place, Path(place).stat())]
    found: list[str] = []
    folders = [place]
    while folders:
        # An editable installation names a hook beside the folders, which is no folder; one may vanish meanwhile.
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    found.append(_stamp(entry.path, entry.stat()))
                elif entry.is_dir() and entry.name != "__pycache__":
                    folders.append(entry.path)
    return sorted(found)


def _stamp(path: str, status: os.stat_result) -> str:
    return f"{path} {status.st_mtime_ns} {status.st_size}"


def _load(location: Path) -> _Book:
    try:
        book = msgspec.msgpack.decode(location.read_bytes(), type=_Book)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return _Book()
    return book if (book.format, book.fingerprint) == (_FORMAT, fingerprint()) else _Book()


def _replace(location: Path, data: bytes) -> None:
    location.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=location.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(location)
    except OSError:
        Path(name).unlink()
        raise


@cache
def _digest_of(choice: Choice) -> bytes:
    return _digest(repr(choice).encode())


def _digest_of_paths(paths: Iterable[str]) -> bytes:
    return _digest(os.fsencode("\0".join(paths)))


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:16]
