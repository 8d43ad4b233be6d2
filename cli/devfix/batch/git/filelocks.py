"""Locks that processes wait for; one that a killed process held is free again."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from devfix.batch.errors import RepositoryError
from devfix.batch.git.process import SECONDS

_POLL_SECONDS = 0.05


@contextmanager
def locked(file: Path, guarded: Path) -> Iterator[int]:
    """Hold the lock `file` for what is at `guarded`. Gives its descriptor, which what is started may inherit.

    Raises:
        RepositoryError: another one keeps it for too long.
    """
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _wait_for(handle, guarded)
        yield handle
    finally:
        os.close(handle)


def _wait_for(handle: int, guarded: Path) -> None:
    until = time.monotonic() + SECONDS
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() > until:
            raise RepositoryError("time limit", f"{guarded} was in use for {SECONDS:g} s")
        time.sleep(_POLL_SECONDS)
