"""From what the parts of devfix know to records that travel: paths relative to the repository."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from devfix.batch.migration.fixes import Fixes, Found, problems_of
from devfix.batch.records import Fix, Stop, Verdict
from devfix.replay import FixResult, ReplayResult, reasons
from devfix.reporting.tally import remaining
from devfix.results import Problem, Result, Rewritten


def fixes_told(found: Found, fixes: Fixes, replays: Sequence[ReplayResult], root: Path) -> tuple[Fix, ...]:
    """Every fix with what became of it. `replays` are of files below `root`, whatever copy of the tree that is."""
    told = {
        (_below(str(result.path), root), fix.finding.code, fix.finding.span): fix
        for result in replays
        for fix in result.fixes
    }
    top = fixes.top
    return tuple(
        _fix(problem, result, top, told.get((_below(result.target.path, top), problem.code, problem.span)), dropped)
        for result in found.changed
        for finding, problem in problems_of(result)
        for dropped in [fixes.dropped.get(fixes.part_of(Path(result.target.path), finding))]
    )


def suggestions_told(found: Found, top: Path) -> tuple[Fix, ...]:
    """The suggestions that were asked for; none was applied."""
    return tuple(
        _fix(problem, result, top, None, None)
        for result in found.results
        for problem in remaining(result)
        if problem.is_suggestion
    )


def verdicts_told(replays: Sequence[ReplayResult], root: Path) -> tuple[Verdict, ...]:
    """What the replay says of each file."""
    return tuple(
        Verdict(
            _below(str(result.path), root),
            str(result.verdict.kind),
            result.on,
            result.command,
            tuple(reasons(result)),
        )
        for result in replays
    )


def unhandled_told(found: Found, top: Path) -> tuple[tuple[str, str], ...]:
    """The files that were left as they are, each with the reason."""
    told = [(_below(one.target.path, top), readable(one.reason)) for one in found.unhandled]
    links = [one for one in found.results if isinstance(one, Rewritten) and one.target.outside]
    return (*told, *((_below(one.target.path, top), "a symbolic link that leads out of the tree") for one in links))


def _fix(problem: Problem, result: Result, top: Path, told: FixResult | None, dropped: str | None) -> Fix:
    cell, line = problem.place(problem.span.line)
    repair = problem.repair
    return Fix(
        path=_below(result.target.path, top),
        line=line,
        column=problem.span.column + 1,
        code=problem.code,
        name=problem.name,
        message=problem.message,
        safety="" if repair is None else repair.safety,
        title="" if repair is None else repair.title,
        cell=cell,
        trail=tuple(_stops(problem, result, top)),
        verdict=None if told is None else str(told.kind),
        dropped=dropped,
        confidence=problem.confidence if problem.confidence < 1 else msgspec.UNSET,
    )


def _stops(problem: Problem, result: Result, top: Path) -> Iterator[Stop]:
    for note in problem.trail:
        cell, line = problem.place(note.span.line) if note.path is None else (None, note.span.line)
        yield Stop(_below(note.path or result.target.path, top), line, note.text, cell)


def _below(path: str, top: Path) -> str:
    return readable_path(Path(os.path.relpath(path, top)))


def readable_path(path: Path) -> str:
    """With forward slashes, as `readable`."""
    return readable(path.as_posix())


def readable(text: str) -> str:
    """What is no UTF-8 in file names, and in messages that hold some, as escapes: JSON cannot carry it."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")
