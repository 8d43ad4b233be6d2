"""Which files have uncommitted changes, by what git says: nobody's work in progress is written over."""

import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from devfix.project.ignore import repository_of

_PATHS_PER_CALL = 500
_GIT_SECONDS = 120


class GitError(Exception):
    """Git cannot tell. The message says why."""


@dataclass(frozen=True)
class Dirty:
    """A file that git knows to differ from the last commit."""

    path: str
    state: str


def dirty(paths: Iterable[str]) -> list[Dirty]:
    """Those of `paths` that have uncommitted changes. Files in no repository have none; without git nothing has.

    Raises:
        GitError: git cannot tell.
    """
    by_repository: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        root = repository_of(str(Path(path).parent))
        if root is not None:
            by_repository[root].append(path)
    if shutil.which("git") is None:
        return []
    return [found for root, members in by_repository.items() for found in _dirty_in(root, members)]


def _dirty_in(root: str, paths: Sequence[str]) -> Iterator[Dirty]:
    for start in range(0, len(paths), _PATHS_PER_CALL):
        fields = iter(_status(root, paths[start : start + _PATHS_PER_CALL]).split("\0"))
        for field in fields:
            if not _COPIED.isdisjoint(field[:2]):
                next(fields, None)  # the name before the rename
            if field:
                yield Dirty(str(Path(root, field[3:])), _STATES.get(field[:2], "modified"))


_COPIED = frozenset("RC")
"""In the index, or in the tree, where a new file is only meant to be added."""
_STATES = {
    "??": "not under version control yet",
    **dict.fromkeys(("A ", "AM", " A", " C", " R"), "added"),
    **dict.fromkeys(("AA", "AU", "UA", "DU", "UD", "UU"), "in conflict"),
}


def _status(root: str, paths: Sequence[str]) -> str:
    """`git status`, without what a repository's configuration could make it run."""
    command = ["git", "-C", root, "--no-optional-locks", "--literal-pathspecs"]
    for setting in ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.quotePath=false"):
        command += ["-c", setting]
    command += ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--", *paths]
    try:
        done = subprocess.run(command, capture_output=True, env=_environment(), timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git status in {root} did not answer: {error}") from error
    if done.returncode:
        reason = os.fsdecode(done.stderr).strip().partition("\n")[0]
        raise GitError(f"git status in {root} failed: {reason}")
    return os.fsdecode(done.stdout)


def _environment() -> dict[str, str]:
    """The environment without what points git at another repository, as it is set inside git's own hooks."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
