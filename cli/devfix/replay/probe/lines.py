"""Which of the watched lines run: `sys.monitoring` tells, or before Python 3.12 `sys.settrace`, which is slower."""

from __future__ import annotations

import dis
import functools
import os.path
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

Report = Callable[[str, int], None]

TOOL_NAME = "devfix"
_TOOL_IDS = (4, 3, 2, 1, 0)
"""The numbers that a tool may take. 0 is meant for debuggers, 1 for coverage and 2 for profilers: they come last."""


def _nothing_to_watch() -> None:
    """Nothing is watched."""


def watch(wanted: dict[str, set[int]], report: Report) -> Callable[[], None]:
    """Call `report` with file and line the first time that each line of `wanted` (by absolute path) runs.

    What this returns, once called, has each of them reported again.
    """
    if not any(wanted.values()):
        return _nothing_to_watch
    left = {file: set(lines) for file, lines in wanted.items()}
    if sys.version_info >= (3, 12):
        restart = _monitor(left, report)
        if restart is not None:
            return _again(wanted, left, restart)
    tracer = _Tracer(left, report)
    tracer.start()
    return _again(wanted, left, tracer.start)


def _again(wanted: dict[str, set[int]], left: dict[str, set[int]], restart: Callable[[], None]) -> Callable[[], None]:
    def again() -> None:
        left.update({file: set(lines) for file, lines in wanted.items()})
        restart()

    return again


@functools.lru_cache(maxsize=1024)
def _plain(file: str) -> str:
    """`file` without the `..` that an entry of `sys.path` may have left in it."""
    return os.path.normpath(file)


def _holds_wanted(code: CodeType, wanted: dict[str, set[int]]) -> bool:
    lines: set[int] = wanted.get(_plain(code.co_filename), set())
    return any(line in lines for _, line in dis.findlinestarts(code))


if sys.version_info >= (3, 12):

    def _monitor(wanted: dict[str, set[int]], report: Report) -> Callable[[], None] | None:
        """Watch by `sys.monitoring`, and how to begin anew; None where other tools have taken all of its numbers."""
        tool = next((number for number in _TOOL_IDS if sys.monitoring.get_tool(number) is None), None)
        if tool is None:
            return None
        events = sys.monitoring.events

        # Each event turns itself off once it is told: a watched line costs nothing when it runs again.
        def started(code: CodeType, _offset: int) -> Any:
            if _holds_wanted(code, wanted):
                sys.monitoring.set_local_events(tool, code, events.LINE)
            return sys.monitoring.DISABLE

        def line_ran(code: CodeType, line: int) -> Any:
            file = _plain(code.co_filename)
            lines = wanted[file]
            if line in lines:
                lines.discard(line)
                report(file, line)
            return sys.monitoring.DISABLE

        sys.monitoring.use_tool_id(tool, TOOL_NAME)
        sys.monitoring.register_callback(tool, events.PY_START, started)
        sys.monitoring.register_callback(tool, events.LINE, line_ran)
        sys.monitoring.set_events(tool, events.PY_START)
        return sys.monitoring.restart_events


class _Tracer:
    """Traces only frames whose code holds a wanted line, and stops for good when all have run."""

    def __init__(self, wanted: dict[str, set[int]], report: Report) -> None:
        self._wanted = wanted
        self._report = report
        self._holds: dict[CodeType, bool] = {}

    def start(self) -> None:
        self._set(self._called)

    def _set(self, function: Any) -> None:
        threading.settrace(function)
        sys.settrace(function)

    def _called(self, frame: FrameType, _event: str, _argument: object) -> Any:
        code = frame.f_code
        if _plain(code.co_filename) not in self._wanted:
            return None
        if code not in self._holds:
            self._holds[code] = _holds_wanted(code, self._wanted)
        return self._stepped if self._holds[code] else None

    def _stepped(self, frame: FrameType, event: str, _argument: object) -> Any:
        file, line = _plain(frame.f_code.co_filename), frame.f_lineno
        lines = self._wanted[file]
        if event == "line" and line in lines:
            lines.discard(line)
            self._report(file, line)
            if not any(self._wanted.values()):
                self._set(None)
        return self._stepped
