"""How far a run is, and what came of it, for a terminal."""

from collections.abc import Sequence
from typing import Any

from devfix.batch.ledger import Row
from devfix.batch.records import State
from devfix.batch.report.figures import ranked
from devfix.batch.report.json import summary as summary_as_json
from devfix.batch.report.totals import STATES, Totals
from devfix.batch.report.words import duration, fixes, number_of, repositories, spoken, told
from devfix.reporting.terminal import Line, one_line

SHOWN = 10
"""Of the repositories in work and of the kinds of errors, this many are named."""

_STYLES = {State.CHANGED: "good", State.REFUTED: "error", State.FAILED: "error", State.RUNNING: "note"}


def status_lines(totals: Totals, now: float, active: bool) -> list[Line]:
    """Counts by state, what is in work, the rate, and the last errors. `now` is in seconds since 1970.

    `active` tells whether a driver is at work: without one, what the ledger has as running was cut off.
    """
    summary = totals.summary
    lines: list[Line] = [[(f"{summary.finished} of {repositories(summary.total)} done", "message"), _pace(totals)]]
    lines += _states(totals)
    lines += _running(totals.running, now, active)
    lines += [_failure(row) for row in totals.failed]
    if not active and summary.finished < summary.total:
        lines.append([("the run is not going on; `devfix batch run` with the same folder continues it", "note")])
    return lines


def status_document(totals: Totals, now: float, active: bool) -> dict[str, Any]:
    """The same for programs: `summary` as in report.json, durations in seconds."""
    return {
        "version": 1,
        "active": active,
        "summary": summary_as_json(totals),
        "remaining": None if totals.remaining is None else round(totals.remaining, 1),
        "running": [
            {"name": row.name, "worker": row.worker, "seconds": _since(row, now), "attempt": row.attempt}
            for row in totals.running
        ],
        "failed": [_error(row) for row in totals.failed],
    }


def summary_lines(totals: Totals, report: str) -> list[Line]:
    """What came of a run, and where `report` is."""
    summary = totals.summary
    made = f"{fixes(summary.kept)} in {repositories(summary.states[State.CHANGED] + summary.states[State.REFUTED])}"
    dropped = f", {summary.dropped} dropped" if summary.dropped else ""
    verdicts = _counts([(spoken(kind), number) for kind, number in ranked(summary.verdicts).items()])
    replays = f"; replay: {verdicts}" if verdicts else ""
    lines: list[Line] = [[(made, "message"), (f"{dropped} ({_checked(totals)}){replays}", "")]]
    lines += _states(totals)
    for group in summary.errors[:SHOWN]:
        names = ", ".join(group.names[:3]) + (", …" if group.count > 3 else "")
        lines.append([(f"{group.count} × ", "faint"), (one_line(told(group.kind)), "error"), (f": {names}", "")])
    return [*lines, [("report: ", "faint"), (one_line(report), "path")]]


def _checked(totals: Totals) -> str:
    files = number_of(totals.summary.files, "file", "files")
    return f"{files} in {repositories(totals.summary.finished)}, {duration(totals.clock)}"


def _pace(totals: Totals) -> tuple[str, str]:
    if totals.per_minute is None:
        return "", ""
    pace = f" in {duration(totals.clock)}, {totals.per_minute:.1f} a minute"
    return f"{pace}, about {duration(totals.remaining)} left" if totals.remaining else pace, ""


def _states(totals: Totals) -> list[Line]:
    states = totals.summary.states
    width = len(str(max(states.values())))
    return [
        [(f"  {states[state]:>{width}} ", ""), (str(state), _STYLES.get(state, ""))]
        for state in STATES
        if states[state]
    ]


def _running(rows: Sequence[Row], now: float, active: bool) -> list[Line]:
    verb = "running" if active else "cut off"
    lines: list[Line] = [
        [(f"{verb} ", "note"), (one_line(row.name), "path"), (f": {duration(_since(row, now))}{_where(row)}", "")]
        for row in rows[:SHOWN]
    ]
    if len(rows) > SHOWN:
        lines.append([(f"{verb} {len(rows) - SHOWN} more", "faint")])
    return lines


def _since(row: Row, now: float) -> float:
    return round(max(now - row.started, 0.0), 1) if row.started is not None else 0.0


def _where(row: Row) -> str:
    again = f", attempt {row.attempt}" if row.attempt > 1 else ""
    return (f" on {one_line(told(row.worker))}" if row.worker else "") + again


def _failure(row: Row) -> Line:
    kind, message = (row.error.kind, row.error.message) if row.error is not None else ("", "")
    says = f": {one_line(told(kind))}: {one_line(told(message))}"
    return [("failed ", "error"), (one_line(row.name), "path"), (says, "")]


def _error(row: Row) -> dict[str, Any]:
    error = {"kind": told(row.error.kind), "message": told(row.error.message)} if row.error is not None else None
    return {"name": row.name, "error": error}


def _counts(numbers: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{number} {one_line(what)}" for what, number in numbers)
