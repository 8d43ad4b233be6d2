"""GitLab's Code Quality report: a list of issues, each known by a fingerprint that outlives moved lines.

The members are those that GitLab documents for a custom tool: `description`, `check_name`, `fingerprint`, `severity`,
`location`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from devfix.reporting import json
from devfix.reporting.identified import identified
from devfix.reporting.text import message_of
from devfix.results import Failed, Problem, Result


def document(results: Sequence[Result], errors: Sequence[Failed]) -> str:
    """The issues; a file that could not be handled is one as well."""
    return json.encode([*(issue for result in results for issue in _issues(result)), *map(_failure, errors)])


def _issues(result: Result) -> Iterator[dict[str, Any]]:
    label = result.target.label
    for problem, known_by in identified(result):
        told = f"{problem.code} {problem.name}: {message_of(problem)}"
        severity = "info" if problem.is_suggestion else "major"
        yield _issue(told, problem.code, known_by, severity, _location(label, problem))


def _failure(error: Failed) -> dict[str, Any]:
    label = json.plain(error.target.label)
    location = {"path": label, "lines": {"begin": 1}}
    return _issue(f"devfix: {error.reason}", "devfix", f"devfix-failed-{label}", "critical", location)


def _issue(told: str, check: str, known_by: str, severity: str, location: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": json.plain(told),
        "check_name": check,
        "fingerprint": known_by,
        "severity": severity,
        "location": location,
    }


def _location(label: str, problem: Problem) -> dict[str, Any]:
    _, line = problem.place(problem.span.line)
    return {"path": json.plain(label), "lines": {"begin": line, "end": problem.place(problem.span.end_line)[1]}}
