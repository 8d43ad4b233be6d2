"""Putting new text in the place of a user's file: whole or not at all, and only where it is still as it was read."""

import contextlib
import os
import shutil
import stat
from pathlib import Path


class WriteError(Exception):
    """The file was not written, and is as it was. The message says why."""


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
        # One after the other: who may not give a file away may still leave it to a group that he is in.
        for owner, group in ((-1, status.st_gid), (status.st_uid, -1)):
            with contextlib.suppress(OSError):  # nor has a container each user of the machine around it
                os.chown(name, owner, group)
    shutil.copystat(path, name)
    os.utime(name)


def sync_folder(folder: str) -> None:
    """Make a rename in `folder` last through a power cut, where the system can: it is done, whatever comes of this."""
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):  # a folder that nobody may list, a file system that syncs files only
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
