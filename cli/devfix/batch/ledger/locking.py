"""One driver at a time works in the folder of a run."""

import fcntl
import os
from pathlib import Path

from devfix.errors import UsageError
from devfix.reporting.terminal import visible

FILE = "lock"


class Lock:
    """Held until `release`, or until the process ends, however it ends.

    Raises:
        UsageError: another process holds it.
    """

    def __init__(self, folder: Path) -> None:
        self._handle = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._handle, 0)
            os.write(self._handle, str(os.getpid()).encode())
        except BlockingIOError as error:
            holder = os.read(self._handle, 20).decode(errors="replace")
            os.close(self._handle)
            who = f" (process {holder})" if holder.isdigit() else ""
            raise UsageError(f"another devfix batch runs in {visible(str(folder))}{who}") from error
        except BaseException:
            os.close(self._handle)
            raise

    def release(self) -> None:
        os.close(self._handle)


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
