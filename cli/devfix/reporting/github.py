"""Workflow commands of GitHub Actions: each finding becomes an annotation on its line of the pull request.

The escapes are those of the runner's own `@actions/core` (`command.ts`): `%`, CR and LF anywhere, `:` and `,` in
properties.
"""

from collections.abc import Iterator, Sequence

from devfix.reporting.tally import remaining
from devfix.reporting.terminal import visible
from devfix.reporting.text import message_of, remedy_of
from devfix.results import Failed, Problem, Result


def document(results: Sequence[Result], errors: Sequence[Failed]) -> str:
    """One command a line."""
    found = [_finding(result.target.label, problem) for result in results for problem in remaining(result)]
    return "\n".join([*found, *_errors(errors)])


def _finding(label: str, problem: Problem) -> str:
    cell, line = problem.place(problem.span.line)
    place = {"title": f"devfix {problem.code} ({problem.name})", "file": label}
    if cell is None:
        place |= {
            "line": str(line),
            "col": str(problem.span.column + 1),
            "endLine": str(problem.span.end_line),
            "endColumn": str(problem.span.end_column + 1),
        }
    where = f"{label}:{line}:{problem.span.column + 1}" if cell is None else f"{label}: cell {cell}, line {line}"
    lines = [f"{where}: {message_of(problem)}", remedy_of(problem)]
    return _command("notice" if problem.is_suggestion else "warning", place, "\n".join(filter(None, lines)))


def _errors(errors: Sequence[Failed]) -> Iterator[str]:
    for error in errors:
        yield _command("error", {"title": "devfix", "file": error.target.label}, error.reason)


def _command(kind: str, properties: dict[str, str], message: str) -> str:
    told = ",".join(f"{name}={_escaped(value, in_property=True)}" for name, value in properties.items())
    return f"::{kind} {told}::{_escaped(message)}"


def _escaped(text: str, in_property: bool = False) -> str:
    lines = "%0A".join(visible(line) for line in text.replace("%", "%25").splitlines())
    return lines.replace(":", "%3A").replace(",", "%2C") if in_property else lines
