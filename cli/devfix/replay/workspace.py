"""A copy of a script's tree in a folder of its own, fresh for each run and removed at the end.

The copy is always at one path, so that a script which prints where it is prints the same before and after.
"""

import contextlib
import copy
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import platformdirs

from devfix.replay.copies import Copy, Plan, can_clone, remove
from devfix.replay.leftovers import Folder

_GIT = ".git"
ROOT_MARKS = (_GIT, ".hg", "pyproject.toml", "setup.py", "setup.cfg")
SKIPPED_FOLDERS = frozenset(
    (
        *(_GIT, ".hg", ".svn", ".venv", "venv", ".tox", ".nox"),
        *("__pycache__", "node_modules", ".mypy_cache", ".ruff_cache", ".pytest_cache"),
    )
)
_TEXTS = frozenset(
    {".cfg", ".conf", ".gin", ".ini", ".ipynb", ".json", ".md", ".rst", ".sh", ".toml", ".txt", ".yaml", ".yml"}
)
"""Endings of the files in which a project names what its Python files define."""
_ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be copied: bytes of one file (larger ones are left out), bytes and files of the whole tree."""

    file: int = 256 << 20
    total: int = 2 << 30
    files: int = 50_000


class WorkspaceError(Exception):
    """The tree cannot be copied; the message says why."""


def project_root(script: Path) -> Path:
    """The nearest folder above `script` that is a repository or a project, else the script's own folder.

    A folder may stand for a script in it.
    """
    folder = script.resolve() if script.is_dir() else script.resolve().parent
    for candidate in (folder, *folder.parents):
        if any((candidate / mark).exists() for mark in ROOT_MARKS):
            return candidate
    return folder


class Workspace:
    """The place of the copies of one tree. Use as a context manager: leaving it removes everything.

    `root` is the copied tree, `control` a folder beside it for what passes between parent and probe, and `temporary`
    one elsewhere, of a short name, for the script's temporary files. `left_out` tells which files were not copied, and
    why. With `keep` the copies stay, each in a folder of `folder` that is named like its run.

    Files that git ignores are copied too: they are often the data and settings that a script needs.
    """

    def __init__(self, original: Path, limits: Limits = Limits(), keep: bool = False) -> None:
        self.original = original.resolve()
        self._keep = keep
        try:
            self._plan = _planned(self.original, limits)
        except OSError as error:
            raise WorkspaceError(f"the tree cannot be read: {error.strerror}: {error.filename}") from error
        self._mentioned: dict[bytes, bool] = {}
        self._named: dict[bytes, bool] = {}
        self._place = Folder("devfix-replay-", _home(self.original))
        self._temporary: list[Folder] = []
        self._settle(self._place.path)

    def _settle(self, folder: Path) -> None:
        self._run = ""
        self.folder = folder
        self.root = self.folder / "tree" / (self.original.name or "root")
        self._copy = Copy(self.original, self._plan, self.root)
        self.control = self.folder / "control"
        # Not below: workers of a DataLoader have sockets there, and systems take no path of a socket over 103 bytes.
        self._temporary.append(Folder("d", digits=6))
        self.temporary = self._temporary[-1].path

    @property
    def left_out(self) -> Mapping[Path, str]:
        return self._plan.left_out

    @property
    def files(self) -> Sequence[Path]:
        """The files that are copied, relative to the tree; those of a folder in the order of their names."""
        return self._plan.files

    def mentions(self, word: bytes) -> bool:
        """Whether the word stands in the source of any file that is copied."""
        if word not in self._mentioned:
            sources = (self.original / file for file in self.files if file.suffix in (".py", ".ipynb"))
            self._mentioned[word] = any(word in _read(source) for source in sources)
        return self._mentioned[word]

    def is_named(self, word: bytes) -> bool:
        """Whether the word stands in a file that is no Python source: in settings, scripts, notebooks or documents."""
        if word not in self._named:
            texts = (self.original / file for file in self.files if file.suffix in _TEXTS)
            whole = re.compile(rb"\b" + re.escape(word) + rb"\b")
            self._named[word] = any(whole.search(_read(text)) for text in texts)
        return self._named[word]

    def sources(self, word: bytes) -> Iterator[tuple[Path, bytes]]:
        """The Python files, as they are, in which the word stands."""
        for file in self.files:
            path = self.original / file
            if file.suffix == ".py" and word in (data := _read(path)):
                yield path, data

    def has_folder(self, folder: Path) -> bool:
        """Whether copies have this folder, given relative to the tree."""
        return folder == Path() or folder in self._plan.folders

    def beside(self) -> "Workspace":
        """Another place for copies of the same tree, removed with this one."""
        other = copy.copy(self)
        other._settle(Path(tempfile.mkdtemp(prefix="beside-", dir=self.folder)))
        return other

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._keep:
            self._set_aside()
            self._place.keep()
        else:
            self._place.remove()
        for folder in self._temporary:
            folder.remove()

    def fresh(self, files: Mapping[Path, bytes | None], run: str = "run") -> None:
        """Have a fresh copy of the tree for the run called `run`.

        `files`, by path relative to the tree, have these contents in place of the original's; None is no file.

        Raises:
            WorkspaceError: a file could not be read or written.
        """
        self._set_aside()
        self._run = run
        self.control.mkdir(parents=True)
        try:
            self._copy.restore(files)
        except OSError as error:
            raise WorkspaceError(f"the tree could not be copied: {error.strerror}: {error.filename}") from error

    def _set_aside(self) -> None:
        """Clear what the last run left beside the copy, and where copies are kept the copy too."""
        with contextlib.suppress(FileNotFoundError):
            remove(self.control, *self.temporary.iterdir())
        if self._keep and self.root.exists():
            self.root.parent.rename(self._free_name())
        with contextlib.suppress(FileNotFoundError):
            remove(*(path for path in self.root.parent.iterdir() if path != self.root))

    def _free_name(self) -> Path:
        """A folder for what the last run left: with a number where a run of that name was kept before."""
        place, number = self.folder / self._run, 1
        while place.exists():
            number += 1
            place = self.folder / f"{self._run} {number}"
        return place


def _home(original: Path) -> str | None:
    """The folder for copies: the user's cache where that can share blocks with the tree, and the temporary one not."""
    temporary, cache = Path(tempfile.gettempdir()), Path(platformdirs.user_cache_dir("devfix"), "replays")
    device = original.stat().st_dev
    if temporary.stat().st_dev == device:
        return None
    try:
        cache.mkdir(parents=True, exist_ok=True)
        return str(cache) if cache.stat().st_dev == device and can_clone(cache) else None
    except OSError:
        return None


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _planned(root: Path, limits: Limits) -> Plan:
    plan, total = Plan(), 0
    for entry in _walk(root, plan):
        relative = Path(entry.path).relative_to(root)
        if entry.is_symlink():
            _plan_link(entry, relative, root, plan)
        elif entry.is_dir():
            plan.folders.append(relative)
        elif not stat.S_ISREG(entry.stat().st_mode):
            plan.left_out[relative] = "not a regular file"
        elif entry.stat().st_size > limits.file:
            plan.left_out[relative] = f"larger than {readable(limits.file)}"
        else:
            plan.files.append(relative)
            total += entry.stat().st_size
            _refuse_large(root, total, len(plan.files), limits)
    return plan


def _walk(folder: Path, plan: Plan) -> Iterator[os.DirEntry[str]]:
    """Every entry below `folder`, parents first. A folder that cannot be read is left out."""
    pending = [folder]
    while pending:
        here = pending.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError as error:
            plan.left_out[here.relative_to(folder)] = error.strerror or "unreadable"
            continue
        for entry in entries:
            if entry.name == _GIT:  # in a worktree it is a file, and leads out of the copy
                continue
            if not entry.is_dir(follow_symlinks=False):
                yield entry
            elif not _skipped(entry):
                yield entry
                pending.append(Path(entry.path))


def _skipped(entry: os.DirEntry[str]) -> bool:
    if entry.name in SKIPPED_FOLDERS:
        return True
    return any(Path(entry.path, mark).exists() for mark in _ENVIRONMENT_MARKS)


def _plan_link(entry: os.DirEntry[str], relative: Path, root: Path, plan: Plan) -> None:
    """Keep a link that stays in the tree. One that leaves it would let the script write to what it points at."""
    target = Path(os.path.realpath(entry.path))
    if target.is_relative_to(root):
        plan.links.append((relative, target.relative_to(root)))
    else:
        plan.left_out[relative] = "a link out of the tree"


def _refuse_large(root: Path, total: int, count: int, limits: Limits) -> None:
    if total > limits.total:
        raise WorkspaceError(f"the tree {root} is larger than {readable(limits.total)} (--copy-limit)")
    if count > limits.files:
        raise WorkspaceError(f"the tree {root} has more than {limits.files} files")


def readable(size: int) -> str:
    """A number of bytes as a person reads it."""
    value, unit = float(size), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"
