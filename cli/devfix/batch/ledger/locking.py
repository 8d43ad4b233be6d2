"""One driver at a time works in the folder of a run."""

import fcntl
import os
import time
from pathlib import Path

from devfix.errors import UsageError
from devfix.reporting.terminal import visible

FILE = "lock"
_ORPHAN_SECONDS = 5.0
_POLL_SECONDS = 0.05


class Lock:
    """Held until `release`, or until the process ends, however it ends.

    Raises:
        UsageError: another process holds it.
    """

    def __init__(self, folder: Path) -> None:
        self._handle = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            _acquire(self._handle)
            os.ftruncate(self._handle, 0)
            os.write(self._handle, str(os.getpid()).encode())
        except BlockingIOError as error:
            holder = _holder(self._handle)
            os.close(self._handle)
            who = f" (process {holder})" if holder else ""
            raise UsageError(f"another devfix batch runs in {visible(str(folder))}{who}") from error
        except BaseException:
            os.close(self._handle)
            raise

    def release(self) -> None:
        os.close(self._handle)


def _acquire(handle: int) -> None:
    """A program that a killed driver was about to start still has the lock, until it is another program.

    Raises:
        BlockingIOError: a process that lives holds it.
    """
    until = time.monotonic() + _ORPHAN_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            holder = _holder(handle)
            if not holder or _lives(holder) or time.monotonic() > until:
                raise
        time.sleep(_POLL_SECONDS)


def _holder(handle: int) -> int:
    """The process that wrote its number into the lock; 0 where none did."""
    told = os.pread(handle, 20, 0)
    return int(told) if told.isdigit() else 0


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


def is_held(folder: Path) -> bool:
    """Whether a driver works in the folder of a run."""
    try:
        handle = os.open(folder / FILE, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(handle)
