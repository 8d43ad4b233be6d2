"""What must be gone when devfix ends, wherever an interrupt came: it is known here before it is made.

An interrupt may come between two steps of a clean-up, or between the making of a thing and its first use. Whoever makes
a folder or starts a process says first how to undo that. What was not undone is undone when the interpreter ends.
"""

import atexit
import contextlib
import secrets
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

from devfix.replay.copies import remove

Undo = Callable[[], object]

_to_undo: dict[object, Undo] = {}
_interrupted = threading.Event()


def to_undo(undo: Undo) -> object:
    """Have `undo` called at the end, unless `undone` is called with what this returns. It may be called too often."""
    key = object()
    _to_undo[key] = undo
    return key


def undone(key: object) -> None:
    """What was to be undone is."""
    _to_undo.pop(key, None)


def undo_all() -> None:
    """Undo what is left, the youngest first."""
    while _to_undo:
        with contextlib.suppress(KeyboardInterrupt):  # what it cuts short is begun again
            for key, undo in reversed([*_to_undo.items()]):
                with contextlib.suppress(Exception):  # what is left of one is no reason to leave the others
                    undo()
                undone(key)


atexit.register(undo_all)


class Folder:
    """A new folder in `parent`, or in that for temporary files, until it is removed.

    Its name ends in so many hexadecimal `digits`.
    """

    def __init__(self, prefix: str, parent: str | Path | None = None, digits: int = 12) -> None:
        while True:
            name = f"{prefix}{secrets.token_hex(digits // 2)}"
            self.path = Path(parent or tempfile.gettempdir(), name).absolute()
            if self.path.exists():
                continue
            self._key = to_undo(lambda: remove(self.path))
            try:
                self.path.mkdir(0o700)
            except FileExistsError:
                self.keep()
                continue
            except BaseException:
                self.remove()
                raise
            self.path = self.path.resolve()
            return

    def keep(self) -> None:
        """Leave it where it is."""
        undone(self._key)

    def remove(self) -> None:
        remove(self.path)
        undone(self._key)


def interrupted() -> bool:
    """Whether this process was told to end: runs in other threads than the first are to be given up then."""
    return _interrupted.is_set()


@contextlib.contextmanager
def stopped_cleanly() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack, as Ctrl-C does, and let all threads know of any of them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if signal.getsignal(signal.SIGINT) is not _interrupt:
        _interrupted.clear()
    previous = {number: signal.getsignal(number) for number in _HANDLERS}
    for number, handler in previous.items():
        if handler in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _HANDLERS[number])
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    _interrupted.set()
    raise KeyboardInterrupt


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    _interrupted.set()
    sys.exit(128 + number)


_HANDLERS = {signal.SIGINT: _interrupt, signal.SIGTERM: _leave, signal.SIGHUP: _leave}
