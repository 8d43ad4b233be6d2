"""Replays as plain lines and as JSON."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from devfix.replay.outcomes import Ending, Outcome
from devfix.replay.replaying import FixResult, ReplayResult


def render(results: Sequence[ReplayResult]) -> list[str]:
    """One line for each replay, and below it one for each fix whose lines never ran or that differs from its file."""
    return [line for result in results for line in _lines(result)]


def as_json(results: Sequence[ReplayResult]) -> dict[str, Any]:
    """The `replays` member of the JSON report."""
    return {"replays": [_result(result) for result in results]}


def _lines(result: ReplayResult) -> list[str]:
    parts = ["replay", _path(result.path)]
    if result.before is not None and result.after is not None:
        parts += [f"on {result.on}", f"before: {_told(result.before)} · after: {_told(result.after)}"]
    verdict = f"→ {_words(result.verdict.kind)}: {result.verdict.reason}"
    fixes = [_fix_line(fix) for fix in result.fixes if fix.kind is not result.verdict.kind]
    kept = [f"        the copy is in {result.kept}"] if result.kept else []
    return ["  ".join(parts) + " " + verdict, *fixes, *kept]


def _fix_line(fix: FixResult) -> str:
    return f"        {fix.finding.code} at line {fix.finding.span.line}: {_words(fix.kind)}"


def _told(outcome: Outcome) -> str:
    if outcome.ending is Ending.FAILED and outcome.error is not None:
        return f"{outcome.error.type} at {outcome.error.where} after {outcome.seconds:.1f} s"
    if outcome.ending is Ending.FAILED:
        return f"exit status {outcome.status} after {outcome.seconds:.1f} s"
    if outcome.ending is Ending.KILLED:
        return f"killed by {outcome.signal} after {outcome.seconds:.1f} s"
    if outcome.ending is Ending.NOT_STARTED:
        return str(outcome.ending)
    return f"{outcome.ending} {'after' if outcome.ending is Ending.TIMED_OUT else 'in'} {outcome.seconds:.1f} s"


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
            {"code": fix.finding.code, "line": fix.finding.span.line, "verdict": str(fix.kind)} for fix in result.fixes
        ],
    }


def _outcome(outcome: Outcome | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    error = outcome.error
    return {
        "outcome": str(outcome.ending),
        "status": outcome.status,
        "signal": outcome.signal,
        "seconds": round(outcome.seconds, 3),
        "peak_memory": outcome.peak_memory,
        "error": error
        and {
            "type": error.type,
            "message": error.message,
            "path": error.file,
            "line": error.line,
            "device": error.is_device_error,
        },
        "losses": [value if math.isfinite(value) else None for value in outcome.losses],
        "reached": [{"path": file, "line": line} for file, line in sorted(outcome.reached)],
        "output": outcome.stdout.tail,
        "errors": outcome.stderr.tail,
    }
