"""One attempt: the driver's lines run in this process, with what they reach and how they end."""

from __future__ import annotations

import contextlib
import io
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType
from typing import Any, Callable, Optional

DRIVER = "<driver>"
Trace = Callable[[FrameType, str, Any], Optional[Any]]


class TooSlow(BaseException):
    """An attempt took longer than it may."""


@dataclass(frozen=True)
class Attempt:
    """How the lines ended: `error` is None where they ran to their end. `lines` are those of the project that ran."""

    lines: frozenset[tuple[str, int]]
    error: BaseException | None = None
    names: dict[str, Any] | None = None

    @property
    def trace(self) -> list[TracebackType]:
        """From the driver's line to where the error arose."""
        found: list[TracebackType] = []
        trace = self.error.__traceback__ if self.error is not None else None
        while trace is not None:
            found.append(trace)
            trace = trace.tb_next
        return found

    @property
    def driver_line(self) -> int | None:
        """The driver's line that failed."""
        return next((one.tb_lineno for one in self.trace if one.tb_frame.f_code.co_filename == DRIVER), None)


class Caller:
    """Runs lines under a limit of `seconds`. `is_ours` says whether a file is of the project."""

    def __init__(self, seconds: float, is_ours: Callable[[str], bool]) -> None:
        self._seconds = seconds
        self._is_ours = is_ours
        self._known: dict[CodeType, bool] = {}

    def run(self, code: CodeType, names: dict[str, Any]) -> Attempt:
        """Run `code` with these names."""
        lines: set[tuple[str, int]] = set()

        def local(frame: FrameType, event: str, _value: Any) -> Any:
            lines.add((frame.f_code.co_filename, frame.f_lineno))
            return local

        def each(frame: FrameType, event: str, _value: Any) -> Any:
            code = frame.f_code
            if code not in self._known:
                self._known[code] = self._is_ours(code.co_filename)
            return local if self._known[code] else None

        error: BaseException | None = None
        with _limited(self._seconds), _quiet():
            before = sys.gettrace()
            sys.settrace(each)
            try:
                exec(code, names)
            except (Exception, SystemExit, TooSlow) as raised:
                error = raised
            finally:
                sys.settrace(before)
        return Attempt(frozenset(lines), error, names)


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(_number: int, _frame: Any) -> None:
        raise TooSlow(f"took longer than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
