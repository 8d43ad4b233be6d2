"""How far a batch is, on standard error: a bar on a terminal, a line for each repository in a pipe."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from devfix.batch.records import Outcome, State
from devfix.batch.report.words import duration, fixes, told
from devfix.reporting.terminal import Line, Piece, Printer, err, one_line

_EVERY_SECONDS = 0.1
_SHOWN = 6
"""Of the repositories in work, this many are named."""

_STYLES = {State.CHANGED: "good", State.REFUTED: "error", State.FAILED: "error"}
_TOLD = (State.REFUTED, State.FAILED)
"""What is told on a terminal, too, where the bar would pass over it."""


class Told:
    """What a batch tells of itself. Here nobody listens."""

    def started(self, name: str) -> None:
        """A repository is in work."""

    def ended(self, outcome: Outcome) -> None:
        """A repository is done."""

    def again(self, name: str, reason: str) -> None:
        """A repository is no longer in work, and waits once more: its worker was lost."""

    def refresh(self) -> None:
        """Time has passed: to be called now and then while nothing happens."""


@contextmanager
def batch_progress(total: int, done: int, quiet: bool) -> Iterator[Told]:
    """What to tell how far a batch is, of which so many repositories were done before."""
    if quiet:
        yield Told()
    elif not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _Lines(total, done, err())
    else:
        bar = _Bar(total, done)
        try:
            yield bar
        finally:
            bar.close()


class _Lines(Told):
    """`[ 12/100] name: changed, 3 fixes, 14 s`"""

    def __init__(self, total: int, done: int, printer: Printer) -> None:
        self._total = total
        self._done = done
        self._printer = printer

    def ended(self, outcome: Outcome) -> None:
        self._done += 1
        self._say(f"{self._done:>{len(str(self._total))}}", _result(outcome))

    def again(self, name: str, reason: str) -> None:
        self._say("-" * len(str(self._total)), _retried(name, reason))

    def _say(self, number: str, line: Line) -> None:
        self._printer.line((f"[{number}/{self._total}] ", "faint"), *line)


class _Bar(Told):
    """Redrawn by hand: a thread that redraws would make it unsafe to fork workers."""

    def __init__(self, total: int, done: int) -> None:
        self._total = total
        self._before = self._done = done
        self._began = time.monotonic()
        self._next = 0.0
        self._running: dict[str, float] = {}
        self._live: Any = None
        self.refresh()

    def started(self, name: str) -> None:
        self._running[name] = time.monotonic()
        self.refresh()

    def ended(self, outcome: Outcome) -> None:
        self._done += 1
        self._running.pop(outcome.name, None)
        if outcome.state in _TOLD:
            self._say(_result(outcome))
        self.refresh()

    def again(self, name: str, reason: str) -> None:
        self._running.pop(name, None)
        self._say(_retried(name, reason))
        self.refresh()

    def refresh(self) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY_SECONDS
        if self._live is None:
            self._live = _new_live()
            self._live.start()
        self._live.update(self._drawn(now), refresh=True)

    def close(self) -> None:
        self._live.stop()

    def _say(self, line: Line) -> None:
        """A line above the bar."""
        self._live.console.print(_text(line), soft_wrap=True)

    def _drawn(self, now: float) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        row = Table.grid(padding=(0, 1), expand=True)
        row.add_column(no_wrap=True)
        row.add_column(ratio=1)
        row.add_column(no_wrap=True)
        bar = ProgressBar(total=self._total, completed=self._done)
        row.add_row(f"{self._done}/{self._total}", bar, _text([(self._pace(now), "")]))
        return Group(row, *(_text(line) for line in self._in_work(now)))

    def _pace(self, now: float) -> str:
        made = self._done - self._before
        if not made or now <= self._began:
            return duration(now - self._began)
        each = (now - self._began) / made
        return f"{60 / each:.1f} a minute, {duration(each * (self._total - self._done))} left"

    def _in_work(self, now: float) -> Iterator[Line]:
        for name, since in list(self._running.items())[:_SHOWN]:
            yield [("  ", ""), (one_line(name), "path"), (f" {duration(now - since)}", "faint")]
        if len(self._running) > _SHOWN:
            yield [(f"  and {len(self._running) - _SHOWN} more", "faint")]


def _result(outcome: Outcome) -> Line:
    kept = len(outcome.kept)
    dropped = len(outcome.fixes) - kept
    parts = [fixes(kept)] if kept else []
    parts += [f"{dropped} dropped"] if dropped else []
    parts.append(duration(sum(outcome.seconds.values())))
    line: Line = [
        (one_line(outcome.name), "path"),
        (": ", ""),
        (str(outcome.state), _STYLES.get(outcome.state, "")),
        (f", {', '.join(parts)}", ""),
    ]
    if outcome.error is not None:
        line.append((f": {one_line(told(outcome.error.kind))}: {one_line(told(outcome.error.message))}", "error"))
    return line


def _retried(name: str, reason: str) -> Line:
    return [(one_line(name), "path"), (f": {one_line(told(reason))}; it is tried again", "unsafe")]


def _new_live() -> Any:
    from rich.console import Console
    from rich.live import Live

    return Live(console=Console(stderr=True, highlight=False), transient=True, auto_refresh=False)


def _text(line: list[Piece]) -> Any:
    from rich.text import Text

    from devfix.reporting.terminal import STYLES

    return Text.assemble(*((text, STYLES[style]) for text, style in line), no_wrap=True, overflow="ellipsis")
