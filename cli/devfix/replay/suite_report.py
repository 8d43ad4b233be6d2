"""What a suite says of its library, as plain lines and as JSON."""

from typing import Any

from devfix.replay.outcomes import SuiteTest
from devfix.replay.postmortem import as_json as postmortem_as_json
from devfix.replay.postmortem import story
from devfix.replay.report import error_as_json
from devfix.replay.suites.comparing import Bug, Comparison, Sort

_INDENT = " " * 8
_NAMED = 3
_LISTED = 10
"""How many tests a line names, and how many lines list tests of a sort."""


def render_suite(found: Comparison, command: str, on: str) -> list[str]:
    """The counts, each device error of the library with its tests, and which tests end otherwise."""
    lines = [f"{command} on {on}: {_counts(found)}"]
    if found.ends is not None:
        lines.append(f"{_INDENT}the suite {found.ends}; what it ran until then counts")
    for bug in found.bugs:
        lines += _bug(bug)
    lines += _unread(found)
    for sort in (Sort.OF_TESTS, Sort.OTHERWISE, Sort.NOT_SIMULATED):
        lines += _listed(found, sort)
    return lines


def _counts(found: Comparison) -> str:
    total = len(found.sorts)
    told = [f"{found.count(sort)} {_words(sort)}" for sort in Sort if found.count(sort)]
    return f"{total} test{'' if total == 1 else 's'}: {', '.join(told)}" if total else "no tests"


def _words(sort: Sort) -> str:
    return {
        Sort.REVEALS: "with a device error in the library",
        Sort.OF_TESTS: "with a device error in the tests",
        Sort.OTHERWISE: "failing otherwise",
        Sort.FAILS_ANYWAY: "failing on the CPU too",
    }.get(sort, str(sort))


def _bug(bug: Bug) -> list[str]:
    lines = [f"{bug.error.told}: {bug.error.message}"]
    if bug.postmortem is not None:
        lines.append(_INDENT + story(bug.postmortem))
    more = f" and {len(bug.tests) - _NAMED} more" if len(bug.tests) > _NAMED else ""
    return [*lines, f"{_INDENT}revealed by {', '.join(bug.tests[:_NAMED])}{more}"]


def _unread(found: Comparison) -> list[str]:
    """The files of tests that cannot be imported."""
    lines = [f"{_INDENT}{one.id}: {_reason(one)}" for one in found.uncollected[:_LISTED]]
    more = [f"{_INDENT}and {len(found.uncollected) - _LISTED} more"] if len(found.uncollected) > _LISTED else []
    return ["not imported:", *lines, *more] if lines else []


def _listed(found: Comparison, sort: Sort) -> list[str]:
    """The tests of a sort with their errors, the first few."""
    tests = found.of(sort)
    lines = [f"{_INDENT}{test}: {_why(found, test)}" for test in tests[:_LISTED]]
    more = [f"{_INDENT}and {len(tests) - _LISTED} more"] if len(tests) > _LISTED else []
    return [f"{sort}:", *lines, *more] if tests else []


def _why(found: Comparison, test: str) -> str:
    return _reason(found.results[test])


def _reason(result: SuiteTest) -> str:
    if result.gap is not None:
        return result.gap
    return "no reason told" if result.error is None else f"{result.error.told}: {result.error.message}"


def suite_as_json(found: Comparison, command: str, on: str) -> dict[str, Any]:
    """The `suite` member of the JSON report."""
    return {
        "command": command,
        "on": on,
        "ends": found.ends,
        "counts": {sort.name.lower(): found.count(sort) for sort in Sort},
        "uncollected": [{"id": one.id, "error": error_as_json(one.error)} for one in found.uncollected],
        "bugs": [_bug_as_json(bug) for bug in found.bugs],
        "tests": [
            {"id": test, "sort": sort.name.lower(), **_result_as_json(found, test)}
            for test, sort in found.sorts.items()
        ],
    }


def _bug_as_json(bug: Bug) -> dict[str, Any]:
    told = None if bug.postmortem is None else postmortem_as_json(bug.postmortem)
    story_of = None if bug.postmortem is None else story(bug.postmortem)
    return {"error": error_as_json(bug.error), "story": story_of, "tests": list(bug.tests), "postmortem": told}


def _result_as_json(found: Comparison, test: str) -> dict[str, Any]:
    result = found.results.get(test)
    if result is None:
        return {"error": None, "not_simulated": None}
    return {"error": error_as_json(result.error), "not_simulated": result.gap}
