"""One start of bubblewrap: what it is handed, and what it tells."""

import contextlib
import json
import os
import select
import signal
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_CHUNK = 64 << 10


class Launch:
    """A command line of bubblewrap. Use as a context manager: leaving it closes what it has open.

    The options travel through a descriptor: every process inside could read those of the command line. With
    `--json-status-fd` bubblewrap tells the first process inside and its namespace, and at the end the exit status, in
    the way of shells: 128 and the signal.
    """

    def __init__(self, program: str, command: Sequence[str], private: Sequence[str]) -> None:
        self.private = private
        self._reading, self._writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._handed = [self._writing]
        self._program, self._command = program, command
        self._options = ""
        self._received = b""
        self._told: dict[str, Any] = {}
        self._first: int | None = None
        """A descriptor of the first process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.started()
        os.close(self._reading)
        if self._first is not None:
            os.close(self._first)

    def data(self, text: str | bytes) -> str:
        """The number of a descriptor from which `text` can be read once."""
        descriptor = os.memfd_create("devfix", os.MFD_CLOEXEC)
        self._handed.append(descriptor)
        os.write(descriptor, text.encode() if isinstance(text, str) else text)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return str(descriptor)

    def options(self, words: Sequence[str]) -> None:
        """Set the options; `data` is of no use after that."""
        self._options = self.data(b"".join(os.fsencode(word) + b"\0" for word in words))

    @property
    def arguments(self) -> Sequence[str]:
        told = ["--json-status-fd", str(self._writing), "--args", self._options]
        return [self._program, *told, "--", *self._command]

    @property
    def descriptors(self) -> Sequence[int]:
        return tuple(self._handed)

    def started(self) -> None:
        for descriptor in self._handed:
            os.close(descriptor)
        self._handed.clear()

    def look(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._reading, _CHUNK):
                self._received += chunk
        *whole, self._received = self._received.split(b"\n")
        for line in whole:
            with contextlib.suppress(ValueError):
                self._told |= json.loads(line)
        if self._first is None and self.first is not None:
            self._first = _opened(self.first, self._told.get("pid-namespace"))

    @property
    def first(self) -> int | None:
        return self._told.get("child-pid")

    @property
    def code(self) -> int | None:
        code = self._told.get("exit-code")
        return code if code is None or code <= 128 else 128 - code

    def kill(self, seconds: float) -> None:
        """The kernel ends a namespace with its first process, which is not gone before the others are."""
        self.look()
        if self._first is None:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._first, signal.SIGKILL)
        waiting = select.poll()
        waiting.register(self._first, select.POLLIN)
        waiting.poll(seconds * 1000)


def _opened(process: int, namespace: int | None) -> int | None:
    """A descriptor of the process; None where it is gone, and the number that of another by now."""
    try:
        descriptor = os.pidfd_open(process)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        if Path(f"/proc/{process}/ns/pid").stat().st_ino == namespace:
            return descriptor
    os.close(descriptor)
    return None
