"""Which files a walk leaves out: `.gitignore` in all its places, and patterns from the settings.

`pathspec` gives the meaning of each pattern; here they are tried in git's order, behind one joined expression that
turns nearly every path away at once.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

_NAMED_GROUP = re.compile(r"\(\?P<\w+>")
_FOLDER = re.compile(r"\(\?P<ps_d>/\)(?:\.\*)?")
"""How pathspec writes the end of a folder's name, with what is below it."""
_ALL_INSIDE = re.compile(r"/(?:\.\*\$)?$")
"""How it ends what it makes of `folder/**`."""
_EXCLUDES_FILE = re.compile(r"^\s*excludesfile\s*=\s*\"?([^\"\n]+?)\"?\s*$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class PatternFile:
    """The patterns of one file, meant relative to the folder `base`."""

    base: str
    lines: tuple[str, ...]
    for_entries: bool = False
    """Whether a pattern means only what it names: git asks for each folder on the way. Else all below it as well."""

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """True for ignored, False for taken in again by a negation, None for not mentioned."""
        relative = path[len(self.base.rstrip(os.sep)) + 1 :] + ("/" if is_folder else "")
        if not self._any.match(relative):
            return None
        return next((include for include, expression in self._patterns if expression.match(relative)), None)

    @cached_property
    def _patterns(self) -> tuple[tuple[bool, re.Pattern[str]], ...]:
        """Include flag and expression, the last pattern first: the last match decides."""
        if not self.lines:
            return ()
        parsed = [pattern for line in self.lines for pattern in _parsed(line)]
        found = ((pattern.include, _expression(pattern)) for pattern in reversed(parsed))
        kept = [(include, expression) for include, expression in found if include is not None and expression]
        return tuple((include, _of_entry(one) if self.for_entries else one) for include, one in kept)

    @cached_property
    def _any(self) -> re.Pattern[str]:
        parts = [_NAMED_GROUP.sub("(?:", expression.pattern) for _, expression in self._patterns]
        return re.compile("|".join(f"(?:{part})" for part in parts) if parts else r"(?!)")


def _parsed(line: str) -> Sequence[Any]:
    """The pattern of a line; none where git finds none in it, as in a lone `!`."""
    import pathspec

    try:
        return list(pathspec.GitIgnoreSpec.from_lines([line]).patterns)
    except (ValueError, re.error):
        return ()


def _expression(pattern: object) -> re.Pattern[str] | None:
    expression = getattr(pattern, "regex", None)
    return expression if isinstance(expression, re.Pattern) else None


def _of_entry(expression: re.Pattern[str]) -> re.Pattern[str]:
    """What matches the file or the folder that a pattern names, and nothing that is in it."""
    text = _FOLDER.sub("/$", _ALL_INSIDE.sub("/.", expression.pattern))
    return re.compile(text if text.startswith("^") else f".*{text}")


@dataclass(frozen=True)
class Ignores:
    """The pattern files that hold for a folder, the outermost first."""

    files: tuple[PatternFile, ...] = ()

    def ignored(self, path: str, is_folder: bool) -> bool:
        for file in reversed(self.files):
            verdict = file.verdict(path, is_folder)
            if verdict is not None:
                return verdict
        return False

    def entering(self, folder: str, has_gitignore: bool, is_repository: bool) -> "Ignores":
        """What holds inside `folder`. Nothing crosses the border of a repository."""
        outer = repository_ignores(folder) if is_repository else self
        path = os.path.join(folder, ".gitignore")
        if not has_gitignore or os.path.islink(path):  # git follows no link to patterns either
            return outer
        own = pattern_file(folder, path)
        return Ignores((*outer.files, own)) if own.lines else outer


def ignores_above(folder: str) -> Ignores:
    """What holds for `folder` by the folders above it, up to its repository.

    Nothing where it is in none, and nothing where it is ignored itself: then the user wants what is in it.
    """
    root = repository_of(folder)
    if root is None or root == folder or ignored_above(folder):
        return Ignores()
    return _descend(root, folder)


def ignored_above(path: str) -> bool:
    """Whether a folder above `path`, or `path` itself, is ignored by its repository."""
    root = repository_of(os.path.dirname(path))
    if root is None:
        return False
    ignores, folder = repository_ignores(root), root
    for part in os.path.relpath(path, root).split(os.sep):
        ignores = ignores.entering(folder, os.path.exists(os.path.join(folder, ".gitignore")), False)
        folder = os.path.join(folder, part)
        if ignores.ignored(folder, os.path.isdir(folder)):
            return True
    return False


def repository_of(folder: str) -> str | None:
    """The closest folder at or above `folder` that holds `.git`."""
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def repository_ignores(root: str) -> Ignores:
    """The user's own excludes and the repository's `info/exclude`."""
    own = os.path.join(_shared_folder(root), "info", "exclude")
    files = [pattern_file(root, path) for path in (global_excludes(), own)]
    return Ignores(tuple(file for file in files if file.lines))


def global_excludes() -> str:
    """The path of git's global excludes file, there or not."""
    home = os.path.expanduser("~")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    for name in (os.path.join(home, ".gitconfig"), os.path.join(config, "git", "config")):
        found = _EXCLUDES_FILE.search(_text(name))
        if found:
            return os.path.expanduser(found[1])
    return os.path.join(config, "git", "ignore")


def pattern_file(base: str, path: str) -> PatternFile:
    """The patterns of the file at `path`; none where it cannot be read."""
    lines = _text(path).splitlines()
    return PatternFile(base, tuple(line for line in lines if line.strip() and not line.startswith("#")), True)


def patterns(base: str, lines: Iterable[str]) -> PatternFile:
    """Patterns from the settings, in the same syntax."""
    return PatternFile(base, tuple(lines))


def _shared_folder(root: str) -> str:
    """`.git`, or in a worktree, where that is a file, the folder that it shares with the repository."""
    folder = os.path.join(root, ".git")
    told = _text(folder).strip()
    if told.startswith("gitdir:"):
        folder = os.path.join(root, told.removeprefix("gitdir:").strip())
    return os.path.join(folder, _text(os.path.join(folder, "commondir")).strip())


def _descend(root: str, folder: str) -> Ignores:
    ignores, current = repository_ignores(root), root
    for part in os.path.relpath(folder, root).split(os.sep):
        ignores = ignores.entering(current, os.path.exists(os.path.join(current, ".gitignore")), False)
        current = os.path.join(current, part)
    return ignores


def _text(path: str) -> str:
    """The text of a regular file: a pipe or a device might never end."""
    try:
        return Path(path).read_text("utf-8-sig", "replace") if os.path.isfile(path) else ""
    except OSError:
        return ""
