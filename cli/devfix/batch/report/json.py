"""`report.json`: the whole run for programs, written as it is read.

    {"version": 1,
     "run": {"devfix", "date", "branch", "rules", "publish", "commits", "execute", "trust_code"},
     "summary": {"repositories", "finished", "states": {STATE: n}, "files", "findings", "kept", "dropped", "unhandled",
                 "verdicts": {KIND: n}, "phases": {PHASE: s}, "seconds", "clock", "per_minute",
                 "errors": [{"kind", "count", "message", "names"}]},
     "repositories": [
        {"name", "source", "revision", "subfolder", "labels", "state", "attempt", "worker", "started", "finished",
         "seconds", "phases": {PHASE: s}, "commit", "branch", "files", "findings",
         "fixes": [{"path", "line", "column", "cell", "code", "name", "message", "safety", "title",
                    "trail": [{"path", "line", "note", "cell"}], "verdict", "dropped", "confidence"}],
         "suggestions": [...],
         "replays": [{"path", "kind", "on", "command", "reasons"}],
         "checks": [{"command", "before", "after", "passed_before", "passed_after", "seconds"}],
         "commits": [{"sha", "subject"}], "unhandled": [{"path", "reason"}], "notes": [...],
         "published", "patch", "error": {"kind", "message"} or null}]}

A repository stands on a line of its own. Of one that is not done only what the ledger knows is there. `started` and
`finished` are seconds since 1970, durations are in seconds; `clock` is for how long the run went on. In the summary,
`kept` and `dropped` count fixes, `verdicts` files, and `names` are the first few; `patch` is a path in the run's
folder. `confidence` is there where it is below 1, and `suggestions`, which are like `fixes`, where there are some.
Sources stand without their credentials.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from devfix.batch.ledger import Row, Run
from devfix.batch.records import Outcome
from devfix.batch.report.outcomes import outcome_of
from devfix.batch.report.totals import STATES, Totals
from devfix.batch.report.words import told
from devfix.reporting.json import plain

VERSION = 1
LONGEST = 20_000
"""Of a longer text, this many characters are told."""


def document(folder: Path, rows: Iterable[Row], totals: Totals, run: Run) -> Iterator[bytes]:
    """The document in pieces, a repository each."""
    yield b'{"version": %d,\n"run": %s,\n"summary": %s,\n"repositories": [' % (
        VERSION,
        _encoded(_run(run)),
        _encoded(summary(totals)),
    )
    for number, row in enumerate(rows):
        yield b",\n" if number else b"\n"
        yield _encoded(_repository(folder, row))
    yield b"\n]}\n"


def summary(totals: Totals) -> dict[str, Any]:
    """The sums over all repositories."""
    sums = totals.summary
    return {
        "repositories": sums.total,
        "finished": sums.finished,
        "states": {str(state): sums.states[state] for state in STATES},
        "files": sums.files,
        "findings": sums.findings,
        "kept": sums.kept,
        "dropped": sums.dropped,
        "unhandled": sums.unhandled,
        "verdicts": sums.verdicts,
        "phases": {phase: round(seconds, 3) for phase, seconds in sums.phases.items()},
        "seconds": round(sums.seconds, 3),
        "clock": round(totals.clock, 3),
        "per_minute": None if totals.per_minute is None else round(totals.per_minute, 3),
        "errors": [
            {
                "kind": group.kind,
                "count": group.count,
                "message": told(totals.messages.get(group.kind, "")),
                "names": group.names,
            }
            for group in sums.errors
        ],
    }


def _run(run: Run) -> dict[str, Any]:
    plan = run.plan
    chosen = {"publish": plan.publish, "commits": plan.commits, "execute": plan.execute, "trust_code": plan.trust_code}
    return {"devfix": run.version, "date": plan.date, "branch": plan.branch, "rules": run.rules, **chosen}


def _repository(folder: Path, row: Row) -> dict[str, Any]:
    known = {
        "name": row.name,
        "source": row.source,
        "revision": row.revision,
        "subfolder": row.subfolder,
        "labels": row.labels,
        "state": row.state,
        "attempt": row.attempt,
        "worker": row.worker,
        "started": row.started,
        "finished": row.finished,
        "seconds": round(row.seconds, 3),
    }
    if not row.state.is_final:
        return known
    patch = f"patches/{row.name}.patch"
    has_patch = (folder / patch).is_file()
    return known | _outcome(outcome_of(folder, row)) | {"patch": patch if has_patch else None}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "phases": outcome.seconds,
        "commit": outcome.commit,
        "branch": outcome.branch,
        "files": outcome.files,
        "findings": outcome.findings,
        "fixes": outcome.fixes,
        "replays": outcome.verdicts,
        "checks": outcome.checks,
        "commits": outcome.commits,
        "unhandled": [{"path": path, "reason": reason} for path, reason in outcome.unhandled],
        "notes": outcome.notes,
        "published": outcome.published,
        "error": outcome.error,
        **({"suggestions": outcome.suggestions} if outcome.suggestions else {}),
    }


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(_safe(msgspec.to_builtins(value)))


def _safe(value: Any) -> Any:
    """The same without credentials and lone surrogates, which JSON has no room for, and with long texts cut."""
    if isinstance(value, str):
        return plain(told(value, LONGEST))
    if isinstance(value, dict):
        return {_safe(key): _safe(member) for key, member in value.items()}
    return [_safe(member) for member in value] if isinstance(value, list | tuple) else value
