"""The findings of a run, each with what it is known by when lines move."""

from collections.abc import Iterator

from devfix.reporting.fingerprints import fingerprints
from devfix.reporting.frame import split_lines
from devfix.reporting.tally import remaining
from devfix.reporting.text import text_of
from devfix.results import Problem, Result


def identified(result: Result) -> Iterator[tuple[Problem, str]]:
    """The findings that a result leaves, with their fingerprints. A file without any is not read."""
    problems = remaining(result)
    if problems:
        lines = split_lines(text_of(result.target) or "")
        yield from zip(problems, fingerprints(result.target.label, problems, lines))
