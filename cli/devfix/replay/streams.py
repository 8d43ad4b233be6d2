"""What a process prints: its first and its last part."""

import os
import threading
from typing import IO

from devfix.replay.outcomes import Output

HEAD_BYTES = 256 << 10
TAIL_BYTES = 8 << 10
_CHUNK = 64 << 10
_DRAIN_SECONDS = 2.0


class Stream:
    """Reads a pipe to its end in a thread, and keeps the first and the last of it. `size` is how much there was."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def finish(self) -> Output:
        """What was read. A process that outlived us and holds the pipe open delays this by seconds at most."""
        self._thread.join(_DRAIN_SECONDS)
        if not self._thread.is_alive():
            self._pipe.close()
        return Output(_text(self._head), _text(self._tail), self.size)

    def _read(self) -> None:
        while chunk := os.read(self._pipe.fileno(), _CHUNK):
            self.size += len(chunk)
            self._head += chunk[: HEAD_BYTES - len(self._head)]
            self._tail = (self._tail + chunk)[-TAIL_BYTES:]


def _text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace")
