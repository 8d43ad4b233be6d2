"""What the page begins with: how many of what, and where."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonpath, relpath
from pathlib import Path

from devfix.project.settings import Choice
from devfix.reporting.html.findings import BY_HAND, NOT_REPLAYED, Entry, FileEntries
from devfix.reporting.report import Report

FOLDERS = 20
"""Of more folders, those that hold them are counted."""

SAFETIES = ("safe", "unsafe", "suggestion", BY_HAND)
VERDICTS = ("confirmed", "conditional", "harmless", "not reached", "inconclusive", "refuted", NOT_REPLAYED)
STATES = ("open", "fixed", "added")


@dataclass(frozen=True)
class Option:
    """One value that findings can have, how many do, and what that is of the most frequent one, in per cent."""

    value: str
    label: str
    note: str
    count: int
    share: int


@dataclass(frozen=True)
class Facet:
    """A property that findings are counted and filtered by. `key` names it in the page's address."""

    key: str
    title: str
    options: tuple[Option, ...]


def facets(files: Sequence[FileEntries], folders: Mapping[str, str]) -> list[Facet]:
    """The properties by which the findings differ, and their rule, folder and fix in any case.

    `folders` has the folder under which each folder is counted.
    """
    entries = [entry for file in files for entry in file.entries]
    closed = [
        _closed("verdict", "Replay", entries, lambda entry: entry.verdict, VERDICTS),
        _closed("state", "State", entries, lambda entry: entry.state, STATES),
    ]
    usual = {NOT_REPLAYED, "open"}
    return [
        _rules(entries),
        _folders(Counter(folders[file.folder] for file in files for _ in file.entries)),
        _closed("safety", "Fix", entries, lambda entry: entry.safety, SAFETIES),
        *(one for one in closed if {option.value for option in one.options} - usual),
    ]


def _rules(entries: Sequence[Entry]) -> Facet:
    names = {entry.code: entry.name for entry in entries}
    return facet("rule", "Rule", _most_first(Counter(entry.code for entry in entries)), notes=names)


def _folders(counts: Counter[str]) -> Facet:
    """What all folders have in common stands in the title alone."""
    shared = commonpath(counts) if len(counts) > 1 and len({Path(name).is_absolute() for name in counts}) == 1 else ""
    labels = {name: relpath(name, shared) for name in counts} if shared else {}
    return facet("folder", f"Folder in {shared}" if shared else "Folder", _most_first(counts), labels)


def _closed(
    key: str, title: str, entries: Iterable[Entry], value: Callable[[Entry], str], order: Sequence[str]
) -> Facet:
    counts = Counter(map(value, entries))
    return facet(key, title, {one: counts[one] for one in order if one in counts})


def _most_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def facet(
    key: str, title: str, counts: Mapping[str, int], labels: Mapping[str, str] = {}, notes: Mapping[str, str] = {}
) -> Facet:
    """How often each value occurs; a value may be shown as its label, and with a note."""
    most = max(counts.values(), default=1)
    options = (
        Option(value, labels.get(value, value), notes.get(value, ""), count, max(round(100 * count / most), 1))
        for value, count in counts.items()
    )
    return Facet(key, title, tuple(options))


def torch_targets(report: Report) -> str:
    """`2.4 (pyproject.toml)`: the oldest torch that the code must run on, and what says so."""
    return ", ".join(sorted({_target(choice) for choice in report.choices})) or "any"


def _target(choice: Choice) -> str:
    if choice.target_torch is None:
        return "any"
    version = ".".join(map(str, choice.target_torch))
    return version if choice.declared_by is None else f"{version} ({choice.declared_by})"


def with_shared_folders(files: Sequence[FileEntries]) -> dict[str, str]:
    """The folder under which each folder is counted: itself, or where they are many one above it."""
    names = {file.folder for file in files}
    depth = max((name.count("/") + 1 for name in names), default=1)
    while depth > 1 and len({_cut(name, depth) for name in names}) > FOLDERS:
        depth -= 1
    return {name: _cut(name, depth) for name in names}


def _cut(folder: str, depth: int) -> str:
    parts = folder.split("/")
    return folder if len(parts) <= depth else "/".join(parts[:depth])
