"""The project around a file: which files its imports lead to, and which files import it.

Files that the user did not name are read for what they define, and never reported or edited. Nothing here parses:
imports are found by their text, and what a file says of its imports is kept in the cache.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

import msgspec
from devfix_codemods.project.imports import find, mentioned

from devfix.project.ignore import repository_of
from devfix.project.snapshots import NONE, UNKNOWN, Snapshot, State, changed, state
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
    times: dict[str, int] = field(default_factory=dict)
    """When the folders that were listed had changed last: for those that are not there, the closest one above."""
    _listed: dict[str, frozenset[str]] = field(default_factory=dict)

    def has(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return name in self.names(folder or "/") or path in self.unsaved

    def names(self, folder: str) -> frozenset[str]:
        """The Python files in a folder; none where it cannot be listed."""
        names = self._listed.get(folder)
        if names is None:
            self._note_time(folder)
            names = self._listed[folder] = _listing(folder)
        return names

    def _note_time(self, folder: str) -> None:
        while folder not in self.times:
            if (time := changed(folder)) != NONE or not folder:
                self.times[folder] = time
                return
            folder = os.path.dirname(folder)

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


def top_of(folder: str) -> str:
    """The folder above which no file of the project of `folder` lies: the repository, or the working directory."""
    here = str(Path.cwd())
    return repository_of(folder) or (here if folder == here or _below(folder, here) else folder)


class Neighbours:
    """The import graph of one run. `known` are the stamps of earlier runs, by path; `stamps` those of this one."""

    def __init__(self, paths: Iterable[str], known: Mapping[str, Stamp]) -> None:
        self.stamps: dict[str, Stamp] = {}
        self._paths = tuple(paths)
        self._known = known
        self._states: dict[str, State | None] = {}
        self._files: dict[str, DiskFiles] = {}
        self._found: dict[str, _Imports] = {}
        self._signatures: dict[str, bytes] = {}
        self._tops: dict[str, str] = {}
        self._named: dict[str, dict[str, list[str]]] = {}

    def place(self, path: str, run: int, room: int) -> Place:
        """Where a file stands."""
        return Place(run, self._top(os.path.dirname(path)), path, self.importers(path), room)

    def importers(self, path: str, most: int | None = MOST_IMPORTERS) -> tuple[str, ...]:
        """The files that import `path`, also by way of its package, and tell most about how it is called; all without
        `most`."""
        told = {one: said for one, said in self._index.get(_stem(path), {}).items() if self._tells(one, path)}
        handed = {one for one in self._handed_on(path) if self._tells(one, path)} - told.keys()
        order = sorted((*told, *handed), key=lambda one: (self.stamps[one].rank, one))
        known = (one for one in order if one in handed or self._means(one, told[one], path))
        return tuple(islice(known, most))

    def _handed_on(self, path: str) -> Iterator[str]:
        """The files that import from the package of `path` what this hands on from there."""
        package = os.path.join(os.path.dirname(path), "__init__.py")
        said = self._index.get(_stem(path), {}).get(package, ()) if package != path else ()
        imports = self._imports(package) if said else {}
        stem = _stem(path)
        names = {one.rpartition(".")[2] for one in said if imports[one] == path} - {stem}
        asking = self._importing_from(package) if names else {}
        for name in sorted(names):
            yield from asking.get(name, ())

    def _importing_from(self, package: str) -> Mapping[str, list[str]]:
        """The files that import a name from a package, by that."""
        found = self._named.get(package)
        if found is None:
            found = self._named[package] = {}
            for other, said in self._index.get(_stem(package), {}).items():
                for dotted in said:
                    if other != package and self._imports(other)[dotted] == package:
                        found.setdefault(dotted.rpartition(".")[2], []).append(other)
        return found

    def _tells(self, importer: str, path: str) -> bool:
        return importer != path and self.stamps[importer].rank <= _TELLING

    def _means(self, importer: str, dotted: Sequence[str], path: str) -> bool:
        imports = self._imports(importer)
        return any(imports[one] == path for one in dotted)

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
        imports = self._imports(path)
        meant = [imports[dotted] or "" for dotted in stamp.imports]
        return hashlib.sha256(stamp.content + os.fsencode("\n".join(meant))).digest()[:16]

    def snapshot(self) -> Snapshot:
        """All that was looked at so far, as it stood then."""
        folders = {folder: time for files in self._files.values() for folder, time in files.times.items()}
        return Snapshot(
            {os.fsencode(path): found for path, found in self._states.items()},
            {os.fsencode(folder): time for folder, time in folders.items()},
            {os.fsencode(folder): os.fsencode(top) for folder, top in self._tops.items()},
        )

    def _imports(self, path: str) -> "_Imports":
        """What the imports of a file mean. Those of the files of one folder mean the same."""
        return self._imports_in(os.path.dirname(path))

    def _imports_in(self, folder: str) -> "_Imports":
        if folder not in self._found:
            top = self._top(folder)
            self._found[folder] = _Imports(folder, self._files_below(top), self._imports_in)
        return self._found[folder]

    def _files_below(self, top: str) -> DiskFiles:
        if top not in self._files:
            self._files[top] = DiskFiles(top)
        return self._files[top]

    @cached_property
    def _index(self) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """The files that mention a module, by the module's own name, each with the imports that may mean it."""
        found: dict[str, dict[str, list[str]]] = {}
        for path in {*self._paths, *self._siblings()}:
            stamp = self._stamp(path)
            for dotted in stamp.imports if stamp is not None else ():
                for part in {*dotted.split("."), *_package_asked(path, dotted)}:
                    found.setdefault(part, {}).setdefault(path, []).append(dotted)
        return found

    def _siblings(self) -> Iterator[str]:
        """Scripts beside the files of the run, and in the folders above: they may import them, named or not."""
        folders: set[str] = set()
        for path in self._paths:
            folder = os.path.dirname(path)
            top = self._top(folder)
            while folder not in folders and (folder == top or _below(folder, top)):
                folders.add(folder)
                folder = os.path.dirname(folder)
        for folder in sorted(folders):
            names = sorted(self._files_below(self._top(folder)).names(folder))
            yield from (os.path.join(folder, name) for name in names[:_MOST_SIBLINGS])

    def _stamp(self, path: str) -> Stamp | None:
        if path not in self._states:
            self._states[path] = state(path)
            if (stamp := self._read(path, self._states[path])) is not None:
                self.stamps[path] = stamp
        return self.stamps.get(path)

    def _read(self, path: str, found: State | None) -> Stamp | None:
        known = self._known.get(path)
        if found is None or found.size > MOST_BYTES:
            return None
        if known is not None and (known.mtime_ns, known.size) == (found.mtime_ns, found.size):
            return known
        try:
            data = Path(path).read_bytes() if Path(path).is_file() else None
        except OSError:
            self._states[path] = UNKNOWN
            return None
        if data is None:
            return None
        content = hashlib.sha256(data).digest()[:16]
        return Stamp(found.mtime_ns, len(data), content, mentioned(data), _rank(data))

    def _top(self, folder: str) -> str:
        if folder not in self._tops:
            self._tops[folder] = top_of(folder)
        return self._tops[folder]


class _Imports(dict[str, str | None]):
    """The files that imports in a folder mean, by their dotted names, each found when it is first asked for.

    What goes up to the folder above means there what it means from there: `..x` here is `.x` above.
    """

    def __init__(self, folder: str, files: DiskFiles, above: Callable[[str], "_Imports"]) -> None:
        super().__init__()
        self._folder, self._files, self._above = folder, files, above

    def __missing__(self, dotted: str) -> str | None:
        if dotted.startswith("..") and self._folder != self._files.top:
            self[dotted] = self._above(os.path.dirname(self._folder))[dotted[1:]]
        else:
            place = find(os.path.join(self._folder, "_.py"), dotted, self._files)
            self[dotted] = place[0] if place is not None else None
        return self[dotted]


def _rank(data: bytes) -> int:
    places = b".to(" in data or b".cuda(" in data or b"device" in data
    return 2 * (b"__main__" not in data) + (not places)


def _package_asked(path: str, dotted: str) -> Iterator[str]:
    """The name of the package that a relative import begins at, which the import leaves out: `from . import x`."""
    level = len(dotted) - len(dotted.lstrip("."))
    folder = path
    for _ in range(level):
        folder = os.path.dirname(folder)
    if level:
        yield os.path.basename(folder)


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
