"""Events, written one JSON line each as they happen: they survive `os._exit`, a crash and a kill."""

import json
import os
from typing import Any


class Journal:
    """An append-only file. Forks inherit its descriptor, and each line is one write.

    Processes that the script starts may run patched lines, or meet what is not simulated; how they end and what they
    compute is the script's business.
    """

    FROM_WORKERS = frozenset({"line", "loaded", "not simulated", "shared", "unlike"})

    def __init__(self, path: str, is_worker: bool = False) -> None:
        self._owner = None if is_worker else os.getpid()
        self._path = path
        self._descriptor = self._open()
        self._file = _identity(self._descriptor)

    def write(self, event: str, **values: Any) -> None:
        """Add one event. A script that makes that impossible loses the journal, not its run."""
        if event not in self.FROM_WORKERS and os.getpid() != self._owner:
            return
        line = json.dumps({"event": event, **values}) + "\n"
        try:
            if _identity(self._descriptor) != self._file:
                # The script closed what it did not open, and the number may be that of a file of its own by now.
                self._descriptor = self._open()
            os.write(self._descriptor, line.encode())
        except OSError:
            return

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _identity(descriptor: int) -> "tuple[int, int] | None":
    """The file that a descriptor stands for; None where it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino
