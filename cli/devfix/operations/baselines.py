"""The findings that a project has accepted for now, so that later runs report only new ones.

An entry is known by its file, its rule and the text around it, never by its line number: code that moves stays known. A
finding whose own lines are the same is known even where its neighbours changed.
"""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from devfix_codemods.outcomes import Options

from devfix.atomic import put
from devfix.errors import UsageError
from devfix.reporting.fingerprints import surroundings
from devfix.reporting.frame import split_lines
from devfix.reporting.json import plain
from devfix.reporting.tally import remaining
from devfix.reporting.text import text_of
from devfix.results import Checked, Problem, Result, Target

VERSION = 1


class Entry(msgspec.Struct, frozen=True):
    """One accepted finding. `path` is relative to the baseline's folder, with `/`.

    What it was when it was recorded is there only where it was in doubt.
    """

    path: str
    code: str
    text: str
    before: str = ""
    after: str = ""
    suggestion: bool | msgspec.UnsetType = msgspec.UNSET
    confidence: float | msgspec.UnsetType = msgspec.UNSET

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """What tells whether a finding is this one: it may have become more certain, or less."""
        return self.path, self.code, self.text, self.before, self.after


class _File(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    entries: list[Entry]


@dataclass(frozen=True)
class Sifted:
    """Results without what the baseline knows: how many findings that were, and the entries that nothing matches."""

    results: list[Result]
    known: int
    stale: tuple[Entry, ...]


def record(file: str, results: Iterable[Result]) -> int:
    """Write all findings of `results` as the baseline, and answer how many there are.

    Raises:
        UsageError: the file cannot be written.
    """
    folder = _folder(file)
    entries = [entry for result in results if isinstance(result, Checked) for entry, _ in _entries(folder, result)]
    data = msgspec.json.format(
        msgspec.json.encode(_File(VERSION, sorted(entries, key=lambda entry: entry.fingerprint))), indent=2
    )
    try:
        put(file, data + b"\n")
    except OSError as error:
        raise UsageError(f"{file}: the baseline cannot be written: {error.strerror}") from error
    return len(entries)


def load(file: str) -> list[Entry]:
    """The entries of a baseline.

    Raises:
        UsageError: the file cannot be read, or is no baseline.
    """
    try:
        read = msgspec.json.decode(Path(file).read_bytes(), type=_File)
    except OSError as error:
        raise UsageError(f"baseline {file}: {error.strerror}; `devfix baseline` records one") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"baseline {file}: no baseline of devfix: {error}") from error
    if read.version != VERSION:
        raise UsageError(f"baseline {file}: version {read.version} is not {VERSION}; `devfix baseline` records it anew")
    return read.entries


def sift(file: str, results: Sequence[Result], asked: Collection[Options]) -> Sifted:
    """`results` without the findings that the baseline in `file` has.

    Stale are entries of files that were looked through and of files that are gone, if one of those that were `asked`
    would have found them.

    Raises:
        UsageError: as `load`.
    """
    folder = _folder(file)
    books: defaultdict[str, _Book] = defaultdict(_Book)
    for entry in load(file):
        books[entry.path].entries.append(entry)
    sifted = [_without_known(folder, books, result) for result in results]
    known = sum(len(remaining(old)) - len(remaining(new)) for old, new in zip(results, sifted))
    seen = {_relative(folder, result.target) for result in results if isinstance(result, Checked)}
    stale = [
        entry
        for path, book in books.items()
        if path in seen or not Path(folder, path).exists()
        for entry in book.entries
        if any(_is_sought(entry, options) for options in asked)
    ]
    return Sifted(sifted, known, tuple(stale))


class _Book:
    """The entries of one file that no finding has matched yet."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def take(self, wanted: Entry, exact: bool) -> bool:
        for entry in self.entries:
            is_alike = not exact and (entry.code, entry.text) == (wanted.code, wanted.text)
            if entry.fingerprint == wanted.fingerprint or is_alike:
                self.entries.remove(entry)
                return True
        return False


def _without_known(folder: str, books: dict[str, _Book], result: Result) -> Result:
    path = _relative(folder, result.target)
    if not isinstance(result, Checked) or not result.problems or path not in books:
        return result
    found = list(_entries(folder, result))
    fresh = [one for one in found if not books[path].take(one[0], exact=True)]
    fresh = [one for one in fresh if not books[path].take(one[0], exact=False)]
    return replace(result, problems=tuple(problem for _, problem in fresh))


def _entries(folder: str, result: Checked) -> Iterator[tuple[Entry, Problem]]:
    if not result.problems:
        return
    path, lines = _relative(folder, result.target), split_lines(text_of(result.target) or "")
    for problem in result.problems:
        around = surroundings(problem, lines)
        text, before, after = (plain(text) for text in (around.text, around.before, around.after))
        suggestion = problem.is_suggestion or msgspec.UNSET
        confidence = problem.confidence if problem.confidence < 1 else msgspec.UNSET
        yield Entry(path, problem.code, text, before, after, suggestion, confidence), problem


def _is_sought(entry: Entry, options: Options) -> bool:
    is_certain_enough = entry.confidence is msgspec.UNSET or entry.confidence >= options.min_confidence
    return entry.code in options.select and is_certain_enough and (options.suggestions or entry.suggestion is not True)


def _folder(file: str) -> str:
    return str(Path(os.path.realpath(file)).parent)


def _relative(folder: str, target: Target) -> str:
    path = target.path or os.path.realpath(target.label)
    return plain(os.path.relpath(path, folder).replace(os.sep, "/"))
