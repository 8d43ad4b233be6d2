"""The project around a file: which files its imports lead to, and which files import it.

Files that the user did not name are read for what they define, and never reported or edited. Nothing here parses:
imports are found by their text, and what a file says of its imports is kept in the cache.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

import msgspec
from devfix_codemods.flow.imports import find, mentioned

from devfix.ignoring import repository_of
from devfix.results import Place, Target

MOST_BYTES = 1_000_000
"""Larger files are not read for the sake of others."""

MOST_IMPORTERS = 4
"""How many of the files that import one are asked how they call it."""

_TELLING = 2
_MOST_SIBLINGS = 200


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    """What a file was when it was read: `content` is a digest, `imports` the dotted names that it mentions.

    `rank` is lower the more the file tells of how others are called: scripts first, then what places values.
    """

    mtime_ns: int
    size: int
    content: bytes
    imports: tuple[str, ...]
    rank: int


class Basis(msgspec.Struct, frozen=True, array_like=True):
    """What the findings of a file rest on: signatures of itself and of other files, and which files import it."""

    signatures: tuple[tuple[bytes, bytes], ...]
    importers: tuple[bytes, ...]

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(os.fsdecode(path) for path, _ in self.signatures[1:])


@dataclass
class DiskFiles:
    """The files below `top`, as the library asks for them. `callers` are the importers that are known, by path.

    `unsaved` are texts that stand for what the disk has.
    """

    top: str
    callers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unsaved: Mapping[str, bytes] = field(default_factory=dict)
    _listed: dict[str, frozenset[str]] = field(default_factory=dict)

    def has(self, path: str) -> bool:
        if path in self.unsaved:
            return True
        folder, _, name = path.rpartition("/")
        if folder not in self._listed:
            self._listed[folder] = _listing(folder or "/")
        return name in self._listed[folder]

    def read(self, path: str) -> bytes | None:
        if path in self.unsaved:
            return self.unsaved[path]
        try:
            return Path(path).read_bytes() if self.has(path) and os.stat(path).st_size <= MOST_BYTES else None
        except OSError:
            return None

    def importers(self, path: str) -> Sequence[str]:
        return self.callers.get(path, ())


def path_of(target: Target) -> str | None:
    """The absolute path of a file; for standard input where it claims to come from, if it does."""
    if target.content is None:
        return target.path
    return os.path.abspath(target.label) if target.label != "<stdin>" else None


def top_of(path: str) -> str:
    """The folder above which no file of the project lies: the repository, or the working directory."""
    folder = os.path.dirname(path)
    here = str(Path.cwd())
    return repository_of(folder) or (here if _below(path, here) else folder)


class Neighbours:
    """The import graph of one run. `known` are the stamps of earlier runs, by path; `stamps` those of this one."""

    def __init__(self, paths: Iterable[str], known: Mapping[str, Stamp]) -> None:
        self.stamps: dict[str, Stamp] = {}
        self._paths = tuple(paths)
        self._known = known
        self._missing: set[str] = set()
        self._files: dict[str, DiskFiles] = {}
        self._found: dict[tuple[str, str], str | None] = {}
        self._signatures: dict[str, bytes] = {}
        self._tops: dict[str, str] = {}

    def place(self, path: str, run: int, room: int) -> Place:
        """Where a file stands."""
        return Place(run, self._top(path), path, self.importers(path), room)

    def importers(self, path: str) -> tuple[str, ...]:
        """The files that import `path` and tell most about how it is called."""
        told = {one: said for one, said in self._index.get(_stem(path), {}).items() if self._tells(one, path)}
        order = sorted(told, key=lambda one: (self.stamps[one].rank, one))
        meaning = (one for one in order if any(self._meant(one, dotted) == path for dotted in told[one]))
        return tuple(islice(meaning, MOST_IMPORTERS))

    def _tells(self, importer: str, path: str) -> bool:
        return importer != path and self.stamps[importer].rank <= _TELLING

    def basis(self, path: str, others: Iterable[str]) -> Basis:
        """What the findings of `path` rest on, where `others` had a say in them."""
        signatures = tuple((os.fsencode(one), self.signature(one)) for one in (path, *others))
        return Basis(signatures, tuple(map(os.fsencode, self.importers(path))))

    def signature(self, path: str) -> bytes:
        """A digest of a file's content and of the files that its imports mean; empty where there is none."""
        if path not in self._signatures:
            self._signatures[path] = self._sign(path)
        return self._signatures[path]

    def _sign(self, path: str) -> bytes:
        stamp = self._stamp(path)
        if stamp is None:
            return b""
        meant = [self._meant(path, dotted) or "" for dotted in stamp.imports]
        return hashlib.sha256(stamp.content + os.fsencode("\n".join(meant))).digest()[:16]

    def _meant(self, path: str, dotted: str) -> str | None:
        """The file that `dotted`, imported in `path`, means. Files of one folder mean the same."""
        key = (os.path.dirname(path), dotted)
        if key not in self._found:
            top = self._top(path)
            place = find(path, dotted, self._files.setdefault(top, DiskFiles(top)))
            self._found[key] = place[0] if place is not None else None
        return self._found[key]

    @cached_property
    def _index(self) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """The files that mention a module, by the module's own name, each with the imports that may mean it."""
        found: dict[str, dict[str, list[str]]] = {}
        for path in {*self._paths, *self._siblings()}:
            stamp = self._stamp(path)
            package = os.path.basename(os.path.dirname(path))
            for dotted in stamp.imports if stamp is not None else ():
                parts = set(dotted.split("."))
                if dotted.startswith(".") and package in dotted:
                    parts.add(package)
                for part in parts:
                    found.setdefault(part, {}).setdefault(path, []).append(dotted)
        return found

    def _siblings(self) -> Iterator[str]:
        """Scripts beside the files of the run, and in the folders above: they may import them, named or not."""
        folders: set[str] = set()
        for path in self._paths:
            folder, top = os.path.dirname(path), self._top(path)
            while folder not in folders and (folder == top or _below(folder, top)):
                folders.add(folder)
                folder = os.path.dirname(folder)
        for folder in sorted(folders):
            names = sorted(name for name in _listing(folder) if name.endswith(".py"))
            yield from (os.path.join(folder, name) for name in names[:_MOST_SIBLINGS])

    def _stamp(self, path: str) -> Stamp | None:
        if path not in self.stamps and path not in self._missing:
            stamp = self._read(path)
            if stamp is None:
                self._missing.add(path)
            else:
                self.stamps[path] = stamp
        return self.stamps.get(path)

    def _read(self, path: str) -> Stamp | None:
        try:
            status = os.stat(path)
            known = self._known.get(path)
            if known is not None and (known.mtime_ns, known.size) == (status.st_mtime_ns, status.st_size):
                return known
            if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
                return None
            data = Path(path).read_bytes()
        except OSError:
            return None
        content = hashlib.sha256(data).digest()[:16]
        return Stamp(status.st_mtime_ns, len(data), content, mentioned(data), _rank(data))

    def _top(self, path: str) -> str:
        folder = os.path.dirname(path)
        if folder not in self._tops:
            self._tops[folder] = top_of(path)
        return self._tops[folder]


def _rank(data: bytes) -> int:
    places = b".to(" in data or b".cuda(" in data or b"device" in data
    return 2 * (b"__main__" not in data) + (not places)


def _stem(path: str) -> str:
    """The name under which a file is imported."""
    name = os.path.basename(path).removesuffix(".py")
    return os.path.basename(os.path.dirname(path)) if name == "__init__" else name


def _listing(folder: str) -> frozenset[str]:
    """The names of the regular files in a folder; none where it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            return frozenset(entry.name for entry in entries if _is_file(entry))
    except (OSError, ValueError):
        return frozenset()


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.name.endswith(".py") and entry.is_file()
    except OSError:
        return False


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)
