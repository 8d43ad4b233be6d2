"""The findings as the page shows them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from devfix_codemods.source import Span
from markupsafe import Markup

from devfix.project.discovery import label_of
from devfix.reporting.html.code import highlighted
from devfix.reporting.html.diffs import Part, parts
from devfix.reporting.html.sources import Text, text_of
from devfix.reporting.report import FixVerdict, Report, Verdict
from devfix.reporting.tally import is_guard
from devfix.reporting.text import place_of
from devfix.results import Checked, Note, Problem, Result, Rewritten, Target

BY_HAND = "by hand"
NOT_REPLAYED = "not replayed"

Reader = Callable[[str], Text | None]
"""The text at a path, if it can be had."""


@dataclass(frozen=True)
class Stop:
    """A stop of the trail: where, what happens there, and its line of code, where it can be had."""

    place: str
    note: str
    code: Markup | None
    is_sink: bool = False


@dataclass(frozen=True)
class Entry:
    """A finding.

    `safety` is `safe`, `unsafe`, `suggestion` or `by hand`, `verdict` the word of the replay, `state` open or fixed.
    `confidence` is `0.84`, or empty where nothing is in doubt.
    """

    number: int
    place: str
    code: str
    name: str
    message: str
    safety: str
    title: str | None
    advice: str | None
    stops: tuple[Stop, ...]
    parts: tuple[Part, ...]
    verdict: str
    reason: str
    state: str
    confidence: str = ""


@dataclass(frozen=True)
class FileEntries:
    """A file with its findings and what its replay says."""

    label: str
    folder: str
    entries: tuple[Entry, ...]
    verdict: Verdict | None = None


def files_of(report: Report) -> list[FileEntries]:
    """Every file that has findings, in the order of the run."""
    verdicts = {verdict.path: verdict for verdict in report.verdicts}
    other = lru_cache(maxsize=64)(_reader(report))
    files: list[FileEntries] = []
    number = 1
    for result in report.results:
        verdict = verdicts.get(result.target.path)
        entries = tuple(_entries(result, verdict, number, other))
        number += len(entries)
        if entries:
            folder = str(Path(result.target.label).parent)
            files.append(FileEntries(result.target.label, folder, entries, verdict))
    return files


@dataclass(frozen=True)
class _Found:
    """A finding, the text that it is about, and what became of it."""

    problem: Problem
    text: Text | None
    state: str


def _entries(result: Result, verdict: Verdict | None, first: int, other: Reader) -> Iterator[Entry]:
    fixes = verdict.fixes if verdict is not None else ()
    for number, found in enumerate(_found_in(result), first):
        yield _entry(number, found, _fix_verdict(found.problem, fixes), other)


def _found_in(result: Result) -> Iterator[_Found]:
    label = result.target.label
    if isinstance(result, Rewritten):
        before, after = text_of(label, result.before), text_of(label, result.after)
        yield from (_Found(problem, before, "added" if is_guard(problem) else "fixed") for problem in result.fixed)
        yield from (_Found(problem, after, "open") for problem in result.left)
    elif isinstance(result, Checked) and result.problems:
        text = _text_in(result.target)
        yield from (_Found(problem, text, "open") for problem in result.problems)


def _text_in(target: Target) -> Text | None:
    try:
        return text_of(target.label, target.read())
    except OSError:
        return None


def _fix_verdict(problem: Problem, fixes: Sequence[FixVerdict]) -> FixVerdict | None:
    """What is said of the finding's fix. What was refuted and left is known by its words: lines may have moved."""
    alike = [fix for fix in fixes if (fix.code, fix.message) == (problem.code, problem.message)]
    at_hand = (fix for fix in alike if fix.span == problem.span)
    return next(at_hand, next((fix for fix in alike if fix.kind == "refuted"), None))


def _entry(number: int, found: _Found, told: FixVerdict | None, other: Reader) -> Entry:
    problem, text = found.problem, found.text
    repair = problem.repair if problem.fixable else None
    advice = problem.advice or (problem.repair.title if problem.repair is not None else None)
    return Entry(
        number=number,
        place=place_of(problem, problem.span),
        code=problem.code,
        name=problem.name,
        message=problem.message,
        safety=BY_HAND if repair is None and not problem.is_suggestion else problem.tier,
        title=repair.title if repair is not None else None,
        advice=advice if repair is None else None,
        stops=tuple(_stops(problem, text, other)),
        parts=parts(text, repair.edits) if repair is not None and text is not None else (),
        verdict=told.kind.replace("_", " ") if told is not None else NOT_REPLAYED,
        reason=told.reason if told is not None else "",
        state=found.state,
        confidence=f"{problem.confidence:.2f}" if problem.confidence < 1 else "",
    )


def _stops(problem: Problem, text: Text | None, other: Reader) -> Iterator[Stop]:
    """The trail, and at its end the sink where no stop shows its line and no fix does."""
    for note in problem.trail:
        source = text if note.path is None else other(note.path)
        yield Stop(_where(problem, note), note.text, _code(source, note.span), _is_in_sink(problem, note))
    is_told = any(note.path is None and note.span.line == problem.span.line for note in problem.trail)
    if not is_told and (problem.trail or not problem.fixable):
        yield Stop(place_of(problem, problem.span), "", _code(text, problem.span), True)


def _is_in_sink(problem: Problem, note: Note) -> bool:
    return note.path is None and problem.span.contains(note.span)


def _where(problem: Problem, note: Note) -> str:
    if note.path is None:
        return place_of(problem, note.span)
    return f"{label_of(note.path)}:{note.span.line}:{note.span.column + 1}"


def _reader(report: Report) -> Reader:
    """Reads other files that trails lead through, as they were when these were found: the run may have written them."""
    rewritten = {one.target.path: one.before for one in report.results if isinstance(one, Rewritten)}

    def read(path: str) -> Text | None:
        try:
            return text_of(path, rewritten[path] if path in rewritten else Path(path).read_bytes())
        except OSError:
            return None

    return read


def _code(text: Text | None, span: Span) -> Markup | None:
    """The line where a span begins, with its part of the span marked."""
    if text is None or span.line > len(text.lines):
        return None
    line = text.shown(text.lines[span.line - 1])
    indent = len(line) - len(line.lstrip())
    end = span.end_column if span.end_line == span.line else len(line)
    first = max(span.column - indent, 0)
    return highlighted([line[indent:]], [[(first, max(end - indent, first + 1))]])[0]
