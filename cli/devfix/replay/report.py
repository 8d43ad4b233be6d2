"""Replays as plain lines and as JSON."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from devfix.replay.outcomes import Ending, Outcome, ScriptError
from devfix.replay.postmortem import as_json as postmortem_as_json
from devfix.replay.postmortem import lines as postmortem_lines
from devfix.replay.postmortem import story
from devfix.replay.results import Driver, FixResult, LoneRun, ReplayResult
from devfix.results import Cell, place_in, told_line

_INDENT = " " * 8


def render(results: Sequence[ReplayResult]) -> list[str]:
    """The verdict on each file and what it rests on, below it each fix that differs from its file; the notes at last.

    What files share, for which one pair of runs tells, stands with the first of them.
    """
    lines: list[str] = []
    told: list[tuple[Outcome | None, Outcome | None]] = []
    for result in results:
        runs = (result.before, result.after)
        lines += _lines(result, is_new=not any(runs[0] is one and runs[1] is other for one, other in told))
        told.append(runs)
    return [*lines, *(f"note: {note}" for note in dict.fromkeys(note for result in results for note in result.notes))]


def render_lone(run: LoneRun) -> list[str]:
    """How a run that judges nothing ended, and what was in reach where it ended with a device error."""
    outcome = run.outcome
    told = _told(outcome) if outcome.passed or outcome.error is None else f"{_told(outcome)}: {outcome.error.message}"
    limit = f": {outcome.reason}" if outcome.reason is not None else ""
    lines = [f"replay {_path(run.path)} on {run.on}: {told}{limit}"]
    lines += [f"{_INDENT}not simulated: {what}" for what in outcome.not_simulated]
    if outcome.postmortem is not None:
        lines += [_INDENT + line for line in postmortem_lines(outcome.postmortem)]
    return [*lines, *_kept(run.kept), *(f"note: {note}" for note in run.notes)]


def as_json(results: Sequence[ReplayResult]) -> dict[str, Any]:
    """The `replays` member of the JSON report."""
    return {"replays": [_result(result) for result in results]}


def lone_as_json(run: LoneRun) -> dict[str, Any]:
    """The `replays` member of the JSON report where there was nothing to judge: no verdict, and nothing after."""
    entry = {"path": _path(run.path), "command": run.command, "on": run.on, "verdict": None, "reason": None}
    outcomes = {"before": _outcome(run.outcome), "after": None, "fixes": [], "notes": list(run.notes)}
    return {"replays": [entry | outcomes]}


def reasons(result: ReplayResult) -> list[str]:
    """What the verdict on a file rests on: where it was run, how the runs ended, and what the reader has to know."""
    if result.before is None or result.after is None:
        return [result.verdict.reason, *result.notes]
    ran = f"on {result.on}: before: {_told(result.before)} · after: {_told(result.after)}"
    postmortem = result.before.postmortem
    by = [line.strip() for line in _driver_lines(result)]
    return [result.verdict.reason, ran, *by, *([story(postmortem)] if postmortem is not None else []), *result.notes]


def _lines(result: ReplayResult, is_new: bool) -> list[str]:
    head, reason = _head(result), result.verdict.reason
    fixes = [_fix_line(fix, result.cells) for fix in result.fixes if fix.kind is not result.verdict.kind]
    if result.before is None or result.after is None:
        return [f"replay {_path(result.path)}: {head}: {reason}", *fixes]
    lines = [f"replay {_path(result.path)} on {result.on}: {head}", _INDENT + reason, *fixes]
    if is_new:
        lines.append(f"{_INDENT}before: {_told(result.before)} · after: {_told(result.after)}")
        postmortem = result.before.postmortem
        lines += [_INDENT + story(postmortem)] if postmortem is not None else []
    return [*lines, *_driver_lines(result), *_kept(result.kept if is_new else None)]


def _head(result: ReplayResult) -> str:
    """The verdict, and what it was reached by where that is no program of the user's."""
    words = _words(result.verdict.kind)
    return f"{words} (harness)" if result.harness is not None and result.harness.step is None else words


def _driver_lines(result: ReplayResult) -> list[str]:
    """What was called, and what stands in the place of what."""
    driver = result.harness
    if driver is None or driver.step is not None:
        return []
    absent = f"; inert stand-ins for {', '.join(driver.absent).replace(':', '.')}" if driver.absent else ""
    absent += f"; without {', '.join(driver.left_out)}" if driver.left_out else ""
    did = f"called `{driver.function}`"
    if driver.lines:
        did = "ran lines {} to {} of `{}` alone".format(*driver.lines, driver.function)
    lines = [f"{_INDENT}a driver of devfix's own {did}{absent}"]
    return [*lines, f"{_INDENT}it is {driver.kept}"] if driver.kept is not None else lines


def _kept(folder: Path | None) -> list[str]:
    return [f"{_INDENT}the copies are in {folder}"] if folder is not None else []


def _fix_line(fix: FixResult, cells: Sequence[Cell]) -> str:
    return f"{_INDENT}{fix.finding.code} at {told_line(cells, fix.finding.span.line)}: {_words(fix.kind)}"


def _told(outcome: Outcome) -> str:
    if outcome.suite is not None and outcome.suite.collected:
        passed = sum(test.passed for test in outcome.suite.tests.values())
        return f"{passed} of {outcome.suite.collected} tests passed in {outcome.seconds:.1f} s"
    if outcome.ending is Ending.FAILED and outcome.error is not None:
        return f"{outcome.error.told} after {outcome.seconds:.1f} s"
    if outcome.ending is Ending.FAILED:
        return f"exit status {outcome.status} after {outcome.seconds:.1f} s"
    if outcome.ending is Ending.KILLED:
        return f"killed by {outcome.signal} after {outcome.seconds:.1f} s"
    if outcome.ending is Ending.NOT_STARTED:
        return str(outcome.ending)
    if outcome.stopped_after is not None:
        return f"stopped after {_steps(outcome.stopped_after)} in {outcome.seconds:.1f} s"
    return f"{outcome.ending} {'after' if outcome.was_cut else 'in'} {outcome.seconds:.1f} s"


def _steps(count: int) -> str:
    return f"{count} step{'s' if count > 1 else ''}"


def _words(kind: str) -> str:
    return kind.replace("_", " ")


def _path(path: Path) -> str:
    """The path as the user would type it here, where it is below here."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else Path(relative).as_posix()


def _result(result: ReplayResult) -> dict[str, Any]:
    return {
        "path": _path(result.path),
        "command": result.command,
        "on": result.on,
        "verdict": str(result.verdict.kind),
        "reason": result.verdict.reason,
        "before": _outcome(result.before),
        "after": _outcome(result.after),
        "fixes": [
            {
                "code": fix.finding.code,
                **_line_as_json(place_in(result.cells, fix.finding.span.line)),
                "verdict": str(fix.kind),
                "reason": fix.reason or None,
            }
            for fix in result.fixes
        ],
        "notes": list(result.notes),
        "harness": _driver(result.harness),
    }


def _driver(driver: Driver | None) -> dict[str, Any] | None:
    if driver is None:
        return None
    kept = None if driver.kept is None else str(driver.kept)
    told = {"function": driver.function, "step": driver.step, "stand_ins": list(driver.absent)}
    told["left_out"] = list(driver.left_out)
    return {**told, "driver": driver.text, "path": kept, "lines": list(driver.lines) or None}


def _outcome(outcome: Outcome | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    return {
        "outcome": str(outcome.ending),
        "status": outcome.status,
        "signal": outcome.signal,
        "limit": outcome.reason,
        "seconds": round(outcome.seconds, 3),
        "peak_memory": outcome.peak_memory,
        "error": error_as_json(outcome.error),
        "postmortem": None if outcome.postmortem is None else postmortem_as_json(outcome.postmortem),
        "not_simulated": list(outcome.not_simulated),
        "warnings": [
            {
                "category": one.category,
                "message": one.message,
                "path": one.file,
                **_line_as_json(one.cell or (None, one.line)),
            }
            for one in outcome.warnings
        ],
        "steps": outcome.stopped_after,
        "losses": [value if math.isfinite(value) else None for value in outcome.losses],
        "reached": [
            {"path": file, **_line_as_json(_own_place(outcome, file, line))} for file, line in sorted(outcome.reached)
        ],
        "output": outcome.stdout.tail,
        "errors": outcome.stderr.tail,
    }


def _own_place(outcome: Outcome, file: str, line: int) -> tuple[int | None, int]:
    """The cell, None in a script, and the line in it."""
    notebook = outcome.notebook
    return place_in(notebook.cells if notebook is not None and notebook.file == file else (), line)


def _line_as_json(place: tuple[int | None, int | None]) -> dict[str, int | None]:
    cell, line = place
    return {"line": line} if cell is None else {"cell": cell, "line": line}


def error_as_json(error: ScriptError | None) -> dict[str, Any] | None:
    """The exception that ended a script, for a JSON report."""
    if error is None:
        return None
    return {
        "type": error.type,
        "message": error.message,
        "path": error.file,
        **_line_as_json(error.cell or (None, error.line)),
        "device": error.is_device_error,
    }
