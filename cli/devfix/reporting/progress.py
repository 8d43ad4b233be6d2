"""A bar on standard error while long work goes on: only on a terminal, and only once it has taken a moment."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from devfix.reporting.terminal import one_line

Advance = Callable[[int, int], None]
"""Told how many are done, and of how many."""

Tell = Callable[[Path, str, float], None]
"""Told which script is replayed, which of its runs goes on, and for how many seconds."""

_PATIENCE_SECONDS = 0.5
_EVERY_SECONDS = 0.1


class _Bar:
    """Redrawn by hand: a thread that redraws would make it unsafe to fork workers."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._next = time.monotonic() + _PATIENCE_SECONDS
        self._progress: Any = None
        self._task: Any = None

    def advance(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY_SECONDS
        if self._progress is None:
            self._progress = _new_progress()
            self._task = self._progress.add_task(self._title, total=total)
            self._progress.start()
        self._progress.update(self._task, completed=done, total=total)
        self._progress.refresh()

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()


class _Clock:
    """One line about the run that goes on, redrawn by hand for the same reason."""

    def __init__(self) -> None:
        self._next = 0.0
        self._status: Any = None

    def tell(self, path: Path, step: str, seconds: float) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY_SECONDS
        if self._status is None:
            self._status = _new_status()
            self._status.start()
        self._status.update(_text(f"replay {one_line(path.name)}: {step}, {seconds:.0f} s"), refresh=True)

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()


@contextmanager
def replay_progress(quiet: bool) -> Iterator[Tell]:
    """A function to be told, many times a second, what a replay is at."""
    if _unseen(quiet):
        yield lambda path, step, seconds: None
        return
    clock = _Clock()
    try:
        yield clock.tell
    finally:
        clock.close()


def no_progress(_done: int, _total: int) -> None:
    """An `Advance` that shows nothing."""


def _unseen(quiet: bool) -> bool:
    return quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb"


@contextmanager
def progress(title: str, quiet: bool) -> Iterator[Advance]:
    """A function `(done, total)` to be told how far the work is."""
    if _unseen(quiet):
        yield no_progress
        return
    bar = _Bar(title)
    try:
        yield bar.advance
    finally:
        bar.close()


def _new_progress() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)


def _new_status() -> Any:
    from rich.console import Console
    from rich.live import Live

    return Live(console=Console(stderr=True), transient=True, auto_refresh=False)


def _text(text: str) -> Any:
    from rich.text import Text

    return Text(text, "dim", no_wrap=True)
