"""Which files a run is about.

Folders are walked in the order of their names. Links are never followed out of the folder that the user named, a file
that is reached twice is handled once, and what the user names outright is taken even where a pattern would leave it
out.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from devfix.project.ignore import Ignores, PatternFile, ignored_above, ignores_above, patterns, repository_of
from devfix.project.settings import Choice, Overrides, Settings, SettingsTree
from devfix.results import Failed, Skipped, Target

STANDARD_INPUT = "-"
_ENDINGS = (".py", ".ipynb")
NOTEBOOK_FACTOR = 32
"""How much larger than other files a notebook may be: the pictures in its outputs are no code."""

LEFT_OUT = frozenset(
    [
        ".bzr",
        ".direnv",
        ".eggs",
        ".git",
        ".hg",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pants.d",
        ".pyenv",
        ".pytest_cache",
        ".pytype",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        ".vscode",
        "__pycache__",
        "__pypackages__",
        "_vendor",
        "_vendored",
        "build",
        "buck-out",
        "dist",
        "env",
        "extern",
        "node_modules",
        "site-packages",
        "third-party",
        "third_party",
        "thirdparty",
        "vendor",
        "vendored",
        "venv",
    ]
)
"""Names of folders that hold no code of the project: environments, caches, builds, other people's sources."""
_BY_NAME = "a folder of this name is left out, unless `exclude` in [tool.devfix] says otherwise"


@dataclass(frozen=True)
class File:
    """A file to handle, as it stood when it was found."""

    target: Target
    choice: Choice
    mtime_ns: int
    size: int


@dataclass
class Discovery:
    """What was found.

    `skipped` were met and left out for a reason worth a line, `excluded` as the settings or git have it; `errors` were
    named and not usable.
    """

    files: list[File] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    excluded: list[Skipped] = field(default_factory=list)
    errors: list[Failed] = field(default_factory=list)

    @property
    def choices(self) -> frozenset[Choice]:
        """The choices that hold for the files."""
        return frozenset(file.choice for file in self.files)

    @property
    def choice_by_path(self) -> dict[str, Choice]:
        """The choice for each file."""
        return {file.target.path: file.choice for file in self.files}


def discover(names: Sequence[str], overrides: Overrides) -> Discovery:
    """The files that `names` stand for: files, folders and what is below them.

    Raises:
        UsageError: a settings file holds a mistake.
    """
    walk = _Walk(SettingsTree(overrides), overrides)
    for name in names:
        walk.named(name)
    return walk.found


def leaves_out(path: str, overrides: Overrides) -> bool:
    """Whether the settings leave out a file, which need not be there yet; links in `path` are resolved.

    Raises:
        UsageError: a settings file holds a mistake.
    """
    return _Walk(SettingsTree(overrides), overrides).excludes(path, is_folder=False)


class _Walk:
    def __init__(self, tree: SettingsTree, overrides: Overrides) -> None:
        self.found = Discovery()
        self._tree = tree
        self._overrides = overrides
        self._seen: set[str] = set()
        self._excludes: dict[int, _Excludes] = {}
        self._extra = patterns(str(Path.cwd()), overrides.exclude)

    def named(self, name: str) -> None:
        """What the user wrote on the command line."""
        path = os.path.realpath(name)
        target = Target(path, label_of(name), _leads_out(name, path))
        try:
            status = os.stat(path)
        except OSError as error:
            reason = _dangling(name) or (error.strerror or "cannot be read")
            self.found.errors.append(Failed(target, reason[0].lower() + reason[1:]))
            return
        if self._overrides.force_exclude and self.excludes(path, stat.S_ISDIR(status.st_mode)):
            self.found.skipped.append(Skipped(target, "excluded by the settings"))
        elif stat.S_ISDIR(status.st_mode):
            self._tree_below(path, target.label)
        else:
            self._named_file(target, status)

    def _named_file(self, target: Target, status: os.stat_result) -> None:
        settings = self._tree.of(os.path.dirname(target.path))
        if not stat.S_ISREG(status.st_mode):
            self.found.errors.append(Failed(target, "not a regular file"))
        elif status.st_size > _limit(target.path, settings):
            self.found.errors.append(Failed(target, _too_large(status.st_size, _limit(target.path, settings))))
        else:
            self._take(target, settings, status)

    def _tree_below(self, top: str, label: str) -> None:
        """Everything below a folder that the user named, each folder where its name stands among the others.

        Not by recursion: folders may be nested deeper than Python's calls.
        """
        pending = [self._folder(top, label, ignores_above(top), top)]
        while pending:
            found = next(pending[-1], None)
            if found is None:
                pending.pop()
                continue
            entry, label, place = found
            if self._is_to_be_walked(entry, label, place):
                pending.append(self._folder(entry.path, label, place.ignores, top))

    def _folder(
        self, path: str, label: str, outer: Ignores, top: str
    ) -> "Iterator[tuple[os.DirEntry[str], str, _Place]]":
        """What is in `path`. `top` is the folder that the user named: links may lead anywhere below it."""
        try:
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            self.found.errors.append(Failed(Target(path, label), f"cannot be listed: {error.strerror}"))
            return
        names = {entry.name for entry in entries}
        if "pyvenv.cfg" in names and path != top:
            self.found.excluded.append(Skipped(Target(path, label), "a virtual environment"))
            return
        settings = self._tree.of(path, names)
        ignores = Ignores()
        if settings.respect_gitignore:
            ignores = outer.entering(path, ".gitignore" in names, ".git" in names)
        excludes = self._excludes_of(settings)
        prefix = "" if label == "." else label.rstrip(os.sep) + os.sep
        for entry in entries:
            yield entry, prefix + entry.name, _Place(path, top, settings, ignores, excludes)

    def _is_to_be_walked(self, entry: os.DirEntry[str], label: str, place: "_Place") -> bool:
        """Whether it is a folder of the run; a file is taken, or left out."""
        is_folder = entry.is_dir(follow_symlinks=False)
        if not is_folder and not entry.name.endswith(_ENDINGS):
            if entry.is_symlink() and entry.is_dir():
                self.found.excluded.append(Skipped(Target(entry.path, label), "a link to a folder; it is not followed"))
            return False
        reason = place.why_left_out(entry, is_folder)
        if reason is not None:
            self.found.excluded.append(Skipped(Target(entry.path, label), reason))
        elif not is_folder:
            self._walked_file(entry, label, place)
        return is_folder and reason is None

    def _walked_file(self, entry: os.DirEntry[str], label: str, place: "_Place") -> None:
        path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
        target = Target(path, label)
        try:
            status = entry.stat()
        except OSError:
            self.found.skipped.append(Skipped(target, _dangling(entry.path) or "cannot be read"))
            return
        if entry.is_symlink() and not path.startswith(place.top.rstrip(os.sep) + os.sep):
            self.found.skipped.append(Skipped(target, "a symbolic link that leads out of the tree"))
        elif entry.is_symlink() and path.endswith(_ENDINGS):
            # The walk meets the file itself, or leaves it out: by the settings of its own folder, not of the link's.
            self.found.excluded.append(Skipped(Target(entry.path, label), "a link to a file of the tree"))
        elif status.st_size > _limit(path, place.settings):
            self.found.skipped.append(Skipped(target, _too_large(status.st_size, _limit(path, place.settings))))
        elif stat.S_ISREG(status.st_mode):
            self._take(target, place.settings, status)

    def _take(self, target: Target, settings: Settings, status: os.stat_result) -> None:
        if target.path in self._seen:
            return
        self._seen.add(target.path)
        choice = settings.choice
        if settings.per_file_ignores:
            choice = _choice_for(target.path, settings)
        self.found.files.append(File(target, choice, status.st_mtime_ns, status.st_size))

    def _excludes_of(self, settings: Settings) -> "_Excludes":
        if id(settings) not in self._excludes:
            lines = (settings.exclude or ()) + settings.extend_exclude
            names = LEFT_OUT if settings.exclude is None else frozenset()
            own = (patterns(settings.root, lines), f"[tool.devfix] of {label_of(settings.origin)}")
            files = (own, (self._extra, "--exclude"))
            self._excludes[id(settings)] = _Excludes(names, tuple(one for one in files if one[0].lines))
        return self._excludes[id(settings)]

    def excludes(self, path: str, is_folder: bool) -> bool:
        settings = self._tree.of(path if is_folder else os.path.dirname(path))
        excludes = self._excludes_of(settings)
        root = repository_of(os.path.dirname(path)) or str(Path.cwd())
        if not _below(path, root) and os.path.isfile(settings.origin):  # then the project is that of the settings
            root = settings.root
        inner, inner_is_folder = path, is_folder
        while _below(inner, root):
            if excludes.reason(inner, os.path.basename(inner), inner_is_folder) is not None:
                return True
            inner, inner_is_folder = os.path.dirname(inner), True
        return settings.respect_gitignore and ignored_above(path)


@dataclass(frozen=True)
class _Excludes:
    names: frozenset[str]
    files: tuple[tuple[PatternFile, str], ...]
    """With where the patterns stand."""

    def reason(self, path: str, name: str, is_folder: bool) -> str | None:
        """Why it is left out; None where it is not."""
        if is_folder and name in self.names:
            return _BY_NAME
        found = (place for file, place in self.files if _below(path, file.base) and file.verdict(path, is_folder))
        return next((f"excluded by {place}" for place in found), None)


@dataclass(frozen=True)
class _Place:
    path: str
    top: str
    settings: Settings
    ignores: Ignores
    excludes: _Excludes

    def why_left_out(self, entry: os.DirEntry[str], is_folder: bool) -> str | None:
        """The reason why an entry of the folder is no part of the run; None where it is."""
        reason = self.excludes.reason(entry.path, entry.name, is_folder)
        if reason is not None:
            return reason
        return "ignored by git" if self.ignores.ignored(entry.path, is_folder) else None


def label_of(name: str) -> str:
    """How a path is shown: relative to the working directory where it is below it."""
    path, here = os.path.abspath(name), str(Path.cwd())
    if path == here:
        return "."
    return os.path.relpath(path, here) if _below(path, here) else path


def choice_of(name: str, overrides: Overrides) -> Choice:
    """The choice for a file that need not exist: what is read from standard input under the name `name`."""
    path = os.path.abspath(name)
    return _choice_for(path, SettingsTree(overrides).of(os.path.dirname(path)))


def _choice_for(path: str, settings: Settings) -> Choice:
    choice = settings.choice
    for pattern, codes in settings.per_file_ignores:
        if _below(path, settings.root) and patterns(settings.root, [pattern]).verdict(path, False):
            choice = replace(choice, ignore=choice.ignore + codes)
    return choice


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)


def _dangling(path: str) -> str | None:
    return "a symbolic link to nothing" if os.path.islink(path) else None


def _leads_out(name: str, path: str) -> bool:
    """Whether `name` is a link whose end, `path`, lies outside the repository (or else the folder) of the link."""
    if not os.path.islink(name):
        return False
    folder = os.path.realpath(os.path.dirname(os.path.abspath(name)))
    return not _below(path, repository_of(folder) or folder)


def _limit(path: str, settings: Settings) -> int:
    return settings.max_file_size * (NOTEBOOK_FACTOR if path.endswith(".ipynb") else 1)


def _too_large(size: int, limit: int) -> str:
    return f"{size:,} bytes, over the limit of {limit:,} (max-file-size in [tool.devfix])"
