"""The page of one repository: what was fixed in it, what the runs say of that, and the diff of each file."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup, escape

from devfix.batch.records import CheckRun, Commit, Fix, Outcome, Stop, Verdict
from devfix.batch.report.diffs import FileDiff, files_in
from devfix.batch.report.run import ALONE, Neighbours, Wanted
from devfix.batch.report.words import duration, spoken, told, web_address
from devfix.reporting.html.diffs import Part, lone
from devfix.reporting.html.framing import SCRIPT, STYLE, page
from devfix.reporting.sidebyside import Hunk
from devfix.reporting.terminal import visible

HERE = "devfix.batch.report"
BATCH_STYLE = (HERE, "batch.css")
MOST_LINES = 2000
"""Of a longer diff, hunks of this many lines together are shown."""

MOST_FIXES = 1000
LONGEST_BODY = 50_000
"""Of a longer text of a pull request, this many characters are shown."""

PHASES = ("clone", "rewrite", "setup", "checks", "replay", "commit", "publish")
_QUOTES = re.compile(r'"""|\'\'\'')


@dataclass(frozen=True)
class Place:
    """A stop on a trail as the template shows it."""

    place: str
    note: str
    is_sink: bool = False
    code: None = None


@dataclass(frozen=True)
class Entry:
    """A fix."""

    number: int
    place: str
    code: str
    name: str
    message: str
    title: str
    safety: str
    stops: tuple[Place, ...]
    verdict: str | None
    dropped: str | None
    doubt: str = ""


@dataclass(frozen=True)
class Replayed:
    """What the replay says of a file."""

    kind: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Check:
    """A command of the project, and how it ended before and after: in words, and whether it passed."""

    command: str
    runs: tuple[tuple[str, bool], ...]
    took: str


@dataclass(frozen=True)
class FileEntries:
    """A file with its fixes, what the replay says of it, and how it changes."""

    path: str
    entries: tuple[Entry, ...]
    verdicts: tuple[Replayed, ...]
    parts: tuple[Part, ...]


def document(
    outcome: Outcome, wanted: Wanted, neighbours: Neighbours = ALONE, has_patch: bool = False
) -> Iterator[str]:
    """The page in pieces; `has_patch` tells whether the run's folder holds the patch."""
    patch = f"../../patches/{outcome.name}.patch" if has_patch else None
    members = _members(outcome, wanted) | {"neighbours": neighbours, "patch": patch}
    return page((HERE, "repository.html.jinja"), members, [STYLE, BATCH_STYLE], [SCRIPT])


def _members(outcome: Outcome, wanted: Wanted) -> dict[str, Any]:
    published = told(outcome.published) if outcome.published is not None else None
    diffs, lines_left_out = files_in(outcome.diff, MOST_LINES)
    return {
        "headline": outcome.name,
        "outcome": outcome,
        "numbers": _numbers(outcome),
        "labels": [told(label) for label in wanted.labels],
        "published": published,
        "address": web_address(published),
        "facts": list(_facts(outcome, wanted)),
        "error": (told(outcome.error.kind), told(outcome.error.message)) if outcome.error is not None else None,
        "notes": [told(note) for note in outcome.notes],
        "checks": [_check(check) for check in outcome.checks],
        "commits": [Commit(told(commit.sha), told(commit.subject)) for commit in outcome.commits],
        "files": list(_files(outcome, diffs)),
        "suggestions": [
            replace(_entry(number, fix), place=f"{told(fix.path)}:{_place(fix)}")
            for number, fix in enumerate(outcome.suggestions[:MOST_FIXES], len(outcome.fixes) + 1)
        ],
        "suggestions_left_out": max(len(outcome.suggestions) - MOST_FIXES, 0),
        "fixes_left_out": max(len(outcome.fixes) - MOST_FIXES, 0),
        "lines_left_out": lines_left_out,
        "unhandled": [(told(path), told(reason)) for path, reason in outcome.unhandled],
        "body": _block(told(outcome.body, LONGEST_BODY)) if outcome.body else None,
    }


def _numbers(outcome: Outcome) -> list[tuple[str, str]]:
    numbers = [
        ("files read", str(outcome.files)),
        ("fixes kept", str(len(outcome.kept))),
        ("fixes dropped", str(len(outcome.fixes) - len(outcome.kept))),
        ("findings left", str(outcome.findings)),
    ]
    numbers += [("suggestions", str(len(outcome.suggestions)))] if outcome.suggestions else []
    return [*numbers, ("took", duration(sum(outcome.seconds.values())))]


def _facts(outcome: Outcome, wanted: Wanted) -> Iterator[tuple[str, str]]:
    facts = (
        ("Source", wanted.source),
        ("Revision", wanted.revision or "HEAD"),
        ("Subfolder", wanted.subfolder),
        ("Commit", outcome.commit),
        ("Branch", outcome.branch),
        ("Worker", outcome.worker),
    )
    yield from ((title, told(text)) for title, text in facts if text)
    phases = [*PHASES, *sorted(set(outcome.seconds) - set(PHASES))]
    times = [f"{told(phase)} {duration(outcome.seconds[phase])}" for phase in phases if phase in outcome.seconds]
    if times:
        yield "Time", ", ".join(times)


def _check(check: CheckRun) -> Check:
    return Check(
        told(check.command),
        ((told(check.before), check.passed_before), (told(check.after), check.passed_after)),
        duration(check.seconds),
    )


def _files(outcome: Outcome, diffs: Sequence[FileDiff]) -> Iterator[FileEntries]:
    """Every file that something is to be said of, in the order in which it comes up."""
    fixes: dict[str, list[tuple[int, Fix]]] = defaultdict(list)
    for number, fix in enumerate(outcome.fixes[:MOST_FIXES], 1):
        fixes[fix.path].append((number, fix))
    verdicts: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in outcome.verdicts:
        verdicts[verdict.path].append(verdict)
    hunks = {diff.path: diff.hunks for diff in diffs}
    for path in dict.fromkeys([*fixes, *verdicts, *hunks]):
        yield FileEntries(
            path=told(path),
            entries=tuple(_entry(number, fix) for number, fix in fixes.get(path, ())),
            verdicts=tuple(
                Replayed(spoken(verdict.kind), tuple(_reasons(verdict.reasons, verdict.on, verdict.command)))
                for verdict in verdicts.get(path, ())
            ),
            parts=tuple(lone(hunk, _lead(hunk)) for hunk in hunks.get(path, ())),
        )


def _reasons(reasons: Sequence[str], on: str, command: str) -> Iterator[str]:
    yield from (told(reason) for reason in reasons)
    ran = [f"on {told(on)}"] if on else []
    ran += [f"by `{told(command)}`"] if command else []
    if ran:
        yield f"ran {' '.join(ran)}"


def _entry(number: int, fix: Fix) -> Entry:
    return Entry(
        number=number,
        place=_place(fix),
        code=told(fix.code),
        name=told(fix.name),
        message=told(fix.message),
        title=told(fix.title),
        safety=told(fix.safety),
        stops=tuple(
            Place(f"{_file(stop, fix)}{_cell(stop)}{stop.line}", told(stop.note), is_last)
            for stop, is_last in zip(fix.trail, [*[False] * (len(fix.trail) - 1), True])
        ),
        verdict=spoken(fix.verdict) if fix.verdict is not None else None,
        dropped=told(fix.dropped) if fix.dropped is not None else None,
        doubt=fix.doubt,
    )


def _place(fix: Fix) -> str:
    return f"{_cell(fix)}{fix.line}:{fix.column}"


def _file(stop: Stop, fix: Fix) -> str:
    """The file of a stop, where it is not that of the fix."""
    return f"{told(stop.path)}:" if stop.path != fix.path else ""


def _cell(one: Fix | Stop) -> str:
    return "" if one.cell is None else f"cell {one.cell}:"


def _lead(hunk: Hunk) -> Sequence[str]:
    """What opens the string that the hunk begins in, as far as its lines let that be seen."""
    lines = [row.before.text for row in hunk if row.before is not None]
    quotes = [(number, found[0]) for number, line in enumerate(lines) for found in _QUOTES.finditer(line)]
    if len(quotes) % 2 == 0:
        return ()
    number, first = quotes[0]
    line = lines[number].strip()
    above = lines[number - 1].strip() if number else ""
    closes = line.endswith(first) and (line != first or (above != "" and not above.endswith((":", "(", "="))))
    opens = line.startswith((first, f"r{first}")) or line.removesuffix(first).rstrip().endswith(("=", "(", "["))
    return (first,) if closes and (line == first or not opens) else ()


def _block(text: str) -> Markup:
    """A text of several lines."""
    return Markup("\n").join(escape(visible(line)) for line in text.splitlines())
