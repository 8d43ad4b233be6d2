"""What the analysis reports: findings, their trails, and the fixes that they carry."""

from dataclasses import dataclass, replace
from enum import StrEnum

from devfix_codemods.edits.operations import Edit
from devfix_codemods.source import Span


class Safety(StrEnum):
    """How far a fix may be trusted. It belongs to the fix, not to the rule."""

    SAFE = "safe"
    """Cannot change a program that works today; applied unasked."""
    UNSAFE = "unsafe"
    """A choice, or a visible effect; applied with `--unsafe`."""
    SUGGESTION = "suggestion"
    """Several weak links lead to it: shown with an edit where asked for, never written unasked."""
    MANUAL = "manual"
    """Advice without an edit."""


@dataclass(frozen=True, slots=True)
class Step:
    """One stop on the way from a value's birth to the operation that fails.

    `path` is the file it lies in, where that is another one than the finding's.
    """

    span: Span
    note: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair: a title in the imperative, and edits that make sense only together.

    `since` is the first torch release that has what the edits write, as (major, minor), or None for any. `effect` says
    what a program that works today computes otherwise from then on, as is meant; None where that is nothing.
    """

    safety: Safety
    title: str
    edits: tuple[Edit, ...] = ()
    since: tuple[int, int] | None = None
    effect: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One device bug at one place in one file.

    `span` is the sink, the operation that fails; `origin` is where the misplaced value was born or last moved (None
    where the two are the same); `trail` tells the way between, in the order a reader wants it. `advice` is what to do
    by hand where `fix` is None or manual. `confidence` is how probable it is that this is a real bug, from 0 to 1:
    the product of the strengths of the constraints on the path that `trail` tells; 1 where an API alone decides.
    `links` are the sorts of these constraints. A `weak` one is told where suggestions are asked for, and has no fix.
    """

    code: str
    name: str
    message: str
    span: Span
    origin: Span | None = None
    trail: tuple[Step, ...] = ()
    fix: Fix | None = None
    advice: str | None = None
    confidence: float = 1.0
    links: tuple[str, ...] = ()
    weak: bool = False

    @property
    def is_suggestion(self) -> bool:
        return self.weak or (self.fix is not None and self.fix.safety == Safety.SUGGESTION)

    @property
    def told_confidence(self) -> float:
        """The confidence as people read it and compare with: two decimals, and 1 only where nothing is in doubt."""
        return 1.0 if self.confidence >= 1 else min(round(self.confidence, 2), 0.99)

    def without_fix(self, reason: str) -> "Finding":
        """The same with advice in the place of its fix: why it has none. What was a suggestion still is one."""
        advice = f"{self.advice} {reason}" if self.advice else reason
        return replace(self, fix=None, advice=advice, weak=self.is_suggestion)
