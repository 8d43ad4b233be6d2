"""From the journal of a run to what is known of its tests."""

from typing import Any

from devfix.replay.journal import Collected, Events, Test, TestBegins, Uncollected
from devfix.replay.outcomes import FAILED, ScriptError, SuiteRun, SuiteTest
from devfix.replay.postmortem import decode


def suite_run(events: Events) -> SuiteRun:
    """What the journal of a suite tells."""
    tests = {event.id: _result(event) for event in events.of(Test)}
    begun = [event.id for event in events.of(TestBegins)]
    return SuiteRun(
        tests,
        next((event.count for event in events.of(Collected)), None),
        {event.id: _uncollected(event) for event in events.of(Uncollected)},
        begun[-1] if begun and begun[-1] not in tests else None,
    )


def _result(event: Test) -> SuiteTest:
    return SuiteTest(
        event.id,
        event.outcome,
        event.seconds,
        _error(event.error),
        event.cause,
        event.gap,
        frozenset(event.lines),
        decode(event.postmortem),
    )


def _uncollected(event: Uncollected) -> SuiteTest:
    return SuiteTest(
        event.id, FAILED, error=_error(event.error), cause=event.cause, postmortem=decode(event.postmortem)
    )


def _error(told: dict[str, Any] | None) -> ScriptError | None:
    """What the probe told of an error; None where it is no such thing."""
    if told is None or not all(isinstance(told.get(name), str) for name in ("type", "message")):
        return None
    file, line = told.get("file"), told.get("line")
    return ScriptError(
        told["type"],
        told["message"],
        file if isinstance(file, str) else None,
        line if isinstance(line, int) else None,
        told.get("device") is True,
    )
