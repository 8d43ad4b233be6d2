"""One attempt: the driver's lines run in this process, with what they reach and how they end."""

from __future__ import annotations

import contextlib
import io
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType
from typing import Any, Callable, Optional

DRIVER = "<driver>"
_STAND_IN = "StandIn"
_PATIENCE = 3
Watched = Mapping[tuple[str, int], Sequence[str]]
Trace = Callable[[FrameType, str, Any], Optional[Any]]


class TooSlow(BaseException):
    """An attempt took longer than it may."""


@dataclass(frozen=True)
class Attempt:
    """How the lines ended: `error` is None where they ran to their end. `lines` are those of the project that ran.

    `inert` are those of the watched lines that worked on a stand-in.
    """

    lines: frozenset[tuple[str, int]]
    error: BaseException | None = None
    names: dict[str, Any] | None = None
    inert: frozenset[tuple[str, int]] = frozenset()

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
    """Runs lines under a limit of `seconds`. `is_ours` says whether a file is of the project.

    `watched` are the names that stand in lines of which it is to be known whether they work on stand-ins.
    """

    def __init__(self, seconds: float, is_ours: Callable[[str], bool], watched: Watched) -> None:
        self._watched = watched
        self._seconds = seconds
        self._is_ours = is_ours
        self._known: dict[CodeType, bool] = {}

    def run(self, code: CodeType, names: dict[str, Any]) -> Attempt:
        """Run `code` with these names."""
        lines: set[tuple[str, int]] = set()
        inert: set[tuple[str, int]] = set()

        def local(frame: FrameType, event: str, _value: Any) -> Any:
            place = (frame.f_code.co_filename, frame.f_lineno)
            lines.add(place)
            if place in self._watched and any(map(_is_inert, _values(frame, self._watched[place]))):
                inert.add(place)
            return local

        def each(frame: FrameType, event: str, _value: Any) -> Any:
            code = frame.f_code
            if code not in self._known:
                self._known[code] = self._is_ours(code.co_filename)
            return local if self._known[code] else None

        error: BaseException | None = None
        with limited(self._seconds), quiet():
            before = sys.gettrace()
            sys.settrace(each)
            try:
                exec(code, names)
            except (Exception, SystemExit, TooSlow) as raised:
                error = raised
            finally:
                sys.settrace(before)
        return Attempt(frozenset(lines), error, names, frozenset(inert))


def _values(frame: FrameType, names: Sequence[str]) -> Iterator[Any]:
    for name in names:
        owner, _, attribute = name.partition(".")
        value = frame.f_locals.get(owner, frame.f_globals.get(owner))
        yield vars(value).get(attribute) if attribute and hasattr(value, "__dict__") else value


def _is_inert(value: Any) -> bool:
    return type(value).__name__ == _STAND_IN


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` after so much processor time, or after some times as long by the clock: others may be at work."""

    def stop(_number: int, _frame: Any) -> None:
        raise TooSlow(f"took longer than {seconds:.0f} s")

    timers = ((signal.SIGALRM, signal.ITIMER_REAL, _PATIENCE), (signal.SIGPROF, signal.ITIMER_PROF, 1))
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, times in timers:
        signal.setitimer(timer, seconds * times)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
