"""Patches of files, and versions of a tree with all or some of their fixes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from devfix_codemods.findings import Finding

from devfix.replay.notebooks import text_of
from devfix.replay.patches import Coverage, Patch
from devfix.replay.verdict_kinds import Kind, Verdict
from devfix.results import Cell, told_line

Only = Callable[[Sequence[Finding]], bytes]
"""The file with the fixes of these findings alone."""


@dataclass(frozen=True, slots=True)
class Part:
    """The smallest piece of a patch that can be left out: one fix, or with no finding the whole of a file's patch."""

    path: Path
    finding: Finding | None = None


@dataclass(frozen=True)
class Change:
    """A file and its patch. `before` is None for a file that the patch creates.

    `findings` are those whose fixes made the patch, at their positions before it. With `only` the fixes can be told
    apart: it makes the file with some of them.
    """

    path: Path
    before: bytes | None = field(repr=False)
    after: bytes = field(repr=False)
    findings: tuple[Finding, ...] = ()
    only: Only | None = field(default=None, repr=False, compare=False)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        if self.only is None or len(self.findings) < 2:
            return (Part(self.path),)
        return tuple(Part(self.path, finding) for finding in self.findings)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of a notebook as it was."""
        return text_of(self.path, self.before or b"")[1]

    def with_parts(self, parts: Collection[Part]) -> bytes | None:
        """The file with these parts of its patch, in which others may stand too."""
        chosen = [part for part in self.parts if part in parts]
        if len(chosen) == len(self.parts):
            return self.after
        if not chosen or self.only is None:
            return self.before
        return self.only([part.finding for part in chosen if part.finding is not None])


@dataclass(frozen=True)
class Version:
    """A tree's changed files with some parts of their patches."""

    changes: tuple[Change, ...]
    parts: frozenset[Part]

    @cached_property
    def data(self) -> dict[Path, bytes | None]:
        """What is in each file."""
        return {change.path: change.with_parts(self.parts) for change in self.changes}

    @cached_property
    def patches(self) -> dict[Path, Patch]:
        """From each file as it was to what is in it now, where that differs. Of notebooks it is that of the program."""
        return {
            change.path: _patch(change.path, change.before or b"", data)
            for change in self.changes
            if (data := self.data[change.path]) is not None and data != change.before
        }

    @property
    def effects(self) -> tuple[str, ...]:
        """What the fixes in it change on purpose in a program that works."""
        whole = [one for change in self.changes if Part(change.path) in self.parts for one in change.findings]
        single = [part.finding for part in self.parts if part.finding is not None]
        fixes = [one.fix for one in (*whole, *single)]
        return tuple(sorted({fix.effect for fix in fixes if fix is not None and fix.effect is not None}))

    def coverage(self, part: Part, lines: Collection[int]) -> Coverage:
        """What the lines that ran in its file say of one part."""
        patch = self.patches.get(part.path)
        fix = part.finding.fix if part.finding is not None else None
        return patch.coverage(lines, fix) if patch is not None else Coverage()


def findings_of(change: Change, parts: Collection[Part]) -> tuple[Finding, ...]:
    """The findings that parts of a change stand for."""
    if any(part.finding is None for part in parts):
        return change.findings
    return tuple(part.finding for part in parts if part.finding is not None)


def parts_of(change: Change, findings: Collection[Finding]) -> list[Part]:
    """The parts of a change that stand for these of its findings."""
    return [part for part in change.parts if (findings if part.finding is None else part.finding in findings)]


def refuted_in_part(change: Change, broken: Mapping[Part, str], rest: Verdict | None) -> Verdict:
    """The verdict on a file of whose patch some parts are `broken`, each for a reason; `rest` is that on the others."""
    whys = "; ".join(dict.fromkeys(broken.values()))
    if len(broken) == len(change.parts):
        return Verdict(Kind.REFUTED, whys)
    told = ", ".join(f"{one.code} at {told_line(change.cells, one.span.line)}" for one in findings_of(change, broken))
    left = "never ran" if rest is None else f"is {rest.kind.replace('_', ' ')}: {rest.reason}"
    return Verdict(Kind.REFUTED, f"{told} breaks it: {whys}; the rest {left}")


def _patch(path: Path, before: bytes, after: bytes) -> Patch:
    text, cells = text_of(path, after)
    return Patch(text_of(path, before)[0], text, cells)
