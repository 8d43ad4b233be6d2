"""Putting new bytes in the place of a file: whole or not at all, and never over somebody's uncommitted work."""

import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from devfix.ignoring import repository_of

_PATHS_PER_CALL = 500
_GIT_SECONDS = 120


class WriteError(Exception):
    """The file was not written, and is as it was. The message says why."""


@dataclass(frozen=True)
class Dirty:
    """A file that git knows to differ from the last commit."""

    path: str
    state: str


def write(path: str, before: bytes, after: bytes, temporary: str) -> None:
    """Put `after` in the place of `before` in the file at `path`, an absolute path without links.

    `temporary` is the suffix of the file that is written beside it and then takes its place.

    Raises:
        WriteError: the file is no longer `before`, is read-only, or the disk refused.
    """
    try:
        _refuse_unless_as_read(path, before)
        _replace(path, after, temporary)
    except OSError as error:
        raise WriteError(f"cannot be written: {error.strerror}") from error


def put(file: str, data: bytes) -> None:
    """Make `data` the file's content, whole or not at all; what is no regular file, such as a pipe, is written to.

    Raises:
        OSError: the file cannot be written.
    """
    with replacing(file) as stream:
        stream.write(data)


@contextlib.contextmanager
def replacing(file: str) -> Iterator[IO[bytes]]:
    """A stream that becomes the file's content when the block ends: whole, or not at all where it raises.

    What is no regular file, such as a pipe, is written to as it goes.

    Raises:
        OSError: the file cannot be written.
    """
    path = Path(file)
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as temporary:
            yield temporary
            temporary.flush()
            os.fsync(temporary.fileno())
        Path(name).chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def temporary_of(path: str, suffix: str) -> str:
    """Where `write` prepares the new text of `path`."""
    return str(Path(path).with_name(f".{Path(path).name}{suffix}"))


def _refuse_unless_as_read(path: str, before: bytes) -> None:
    status = Path(path).lstat()
    if not stat.S_ISREG(status.st_mode):
        raise WriteError("is no longer a regular file")
    effective = os.access in os.supports_effective_ids
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK, effective_ids=effective):
        raise WriteError("is read-only; it was left as it was")
    if Path(path).read_bytes() != before:
        raise WriteError("changed on disk while devfix was at work; it was left as it is, run again")


def _replace(path: str, data: bytes, suffix: str) -> None:
    name = temporary_of(path, suffix)
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            _like(path, name)
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    sync_folder(str(Path(path).parent))


def _like(path: str, name: str) -> None:
    """Give the new file the owner, mode and attributes of the old one, as far as this user may."""
    status = Path(path).stat()
    if hasattr(os, "chown"):
        with contextlib.suppress(PermissionError):
            os.chown(name, status.st_uid, status.st_gid)
    shutil.copystat(path, name)
    os.utime(name)


def sync_folder(folder: str) -> None:
    """Make a rename in `folder` last through a power cut, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def dirty(paths: Iterable[str]) -> list[Dirty]:
    """Those of `paths` that have uncommitted changes. Files in no repository have none; without git nothing has.

    Raises:
        WriteError: git cannot tell.
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
            if field[:1] in "RC" and field:
                next(fields, None)  # the name before the rename
            if field:
                yield Dirty(str(Path(root, field[3:])), _STATES.get(field[:2], "modified"))


_STATES = {"??": "not under version control yet", "A ": "added", "AM": "added", "UU": "in conflict"}


def _status(root: str, paths: Sequence[str]) -> str:
    """`git status`, without what a repository's configuration could make it run."""
    command = ["git", "-C", root, "--no-optional-locks", "--literal-pathspecs"]
    for setting in ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.quotePath=false"):
        command += ["-c", setting]
    command += ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--", *paths]
    try:
        done = subprocess.run(command, capture_output=True, env=_environment(), timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WriteError(f"git status in {root} did not answer: {error}") from error
    if done.returncode:
        reason = os.fsdecode(done.stderr).strip().partition("\n")[0]
        raise WriteError(f"git status in {root} failed: {reason}")
    return os.fsdecode(done.stdout)


def _environment() -> dict[str, str]:
    """The environment without what points git at another repository, as it is set inside git's own hooks."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
