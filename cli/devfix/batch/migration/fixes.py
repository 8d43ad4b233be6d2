"""The fixes of one tree: what was found, and what of it still holds after runs have judged it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from devfix_codemods.findings import Finding

from devfix.analysis.cache import no_cache
from devfix.analysis.jobs import Task
from devfix.analysis.runner import Request, run
from devfix.batch.records import Rules
from devfix.operations.inputs import Outcome
from devfix.operations.rewrite import as_changes
from devfix.project.discovery import Discovery, discover
from devfix.project.settings import Overrides
from devfix.replay.changes import Change, Part
from devfix.reporting.progress import no_progress
from devfix.reporting.tally import remaining
from devfix.results import Failed, Problem, Result, Rewritten
from devfix.rules import plugins


@dataclass(frozen=True)
class Found:
    """What `rewrite` makes of a tree. Nothing is written yet."""

    top: Path
    discovery: Discovery
    results: Sequence[Result]

    @cached_property
    def changed(self) -> Sequence[Rewritten]:
        """The files that have fixes; one that a link shows outside the tree is none of them."""
        return [one for one in self.results if isinstance(one, Rewritten) and not one.target.outside]

    @property
    def unhandled(self) -> Sequence[Failed]:
        """The files that could not be read, or not as Python."""
        return Outcome(self.discovery, tuple(self.results)).errors

    @property
    def left(self) -> int:
        """How many findings have no fix that was applied."""
        return sum(len(remaining(result)) for result in self.results)

    def fixes(self) -> "Fixes":
        return Fixes(self.top, as_changes(self.changed, self.discovery.choice_by_path))


def find(folder: Path, top: Path, rules: Rules, cores: int) -> Found:
    """What `rewrite` makes of the files below `folder`, with the settings of the repository at `top`.

    Raises:
        UsageError: its settings hold a mistake.
    """
    plugins.load()
    overrides = Overrides(
        select=rules.select,
        ignore=rules.ignore,
        unsafe=rules.unsafe,
        target_torch=rules.target_torch,
        suggestions=rules.suggestions,
        min_confidence=rules.min_confidence,
        top=str(top),
    )
    discovery = discover([str(folder)], overrides)
    request = Request(Task.REWRITE, cores, only_concerned=True)
    return Found(top, discovery, run(discovery.files, request, no_cache(), no_progress))


@dataclass
class Fixes:
    """All fixes of the tree at `top`, and why some were dropped."""

    top: Path
    all: Sequence[Change]
    dropped: dict[Part, str] = field(default_factory=dict)

    @property
    def parts(self) -> Sequence[Part]:
        """What still holds, in the order of the files."""
        return [part for change in self.all for part in change.parts if part not in self.dropped]

    def drop(self, parts: Iterable[Part], reason: str) -> None:
        """Take these back; the first reason stays."""
        for part in parts:
            self.dropped.setdefault(part, reason)

    def changes(self) -> Sequence[Change]:
        """The files with what still holds."""
        return [one for change in self.all if (one := self._reduced(change)) is not None]

    def files(self, parts: Collection[Part]) -> Mapping[Path, bytes]:
        """What these parts make of the files that they change, by absolute path."""
        made = {change.path: (change.before, change.with_parts(parts)) for change in self.all}
        return {path: after for path, (before, after) in made.items() if after is not None and after != before}

    def part_of(self, path: Path, finding: Finding) -> Part:
        """The part that the fix of a finding belongs to."""
        change = next(change for change in self.all if change.path == path)
        return next(part for part in change.parts if part.finding in (None, finding))

    def rules_of(self, part: Part) -> frozenset[str]:
        """The codes of the rules that made a part."""
        if part.finding is not None:
            return frozenset((part.finding.code,))
        return frozenset(finding.code for change in self.all if change.path == part.path for finding in change.findings)

    def _reduced(self, change: Change) -> Change | None:
        kept = [part for part in change.parts if part not in self.dropped]
        if len(kept) == len(change.parts):
            return change
        after = change.with_parts(kept)
        if after is None or after == change.before:
            return None
        findings = tuple(part.finding for part in kept if part.finding is not None)
        return Change(change.path, change.before, after, findings, change.only)


def problems_of(result: Rewritten) -> Iterable[tuple[Finding, Problem]]:
    """Each repaired finding as the library knows it, and as reports do."""
    return zip(result.findings, result.fixed, strict=True)
