"""How the work on one file can end: a closed set of frozen types, never None, never an exception."""

from dataclasses import dataclass

from devfix_codemods.findings import Finding
from devfix_codemods.preferences import Prefer


@dataclass(frozen=True, slots=True)
class Options:
    """What to look for and what may be applied.

    `target_torch` is the (major, minor) release that written code must run on; None stands for any. `prefer` says what
    a declared device is. `guards` asks for assertions where a model is set up. `target_origin` is the file that the
    target was read from, for messages. Findings with less confidence than `min_confidence` are left out, and so are
    suggestions, unless `suggestions` asks for them.
    """

    select: frozenset[str]
    unsafe: bool = False
    target_torch: tuple[int, int] | None = None
    prefer: Prefer = Prefer.CUDA
    guards: bool = False
    target_origin: str | None = None
    suggestions: bool = False
    min_confidence: float = 0.0

    def shows(self, finding: Finding) -> bool:
        """Whether `finding` is told, as far as its tier and its confidence go."""
        return finding.told_confidence >= self.min_confidence and (self.suggestions or not finding.is_suggestion)


@dataclass(frozen=True, slots=True)
class Checked:
    """The file was read to the end; `findings` in source order, ignored ones left out and counted in `ignored`."""

    findings: tuple[Finding, ...]
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class Clean:
    """Nothing to change. `left` are the findings without a fix that may be applied."""

    left: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Changed:
    """`data` is the whole new file. `fixed` were applied; `left` remain in the new file, at its positions."""

    data: bytes
    fixed: tuple[Finding, ...]
    left: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """The file was left alone on purpose, for the reason given (`# devfix: skip-file`, a template)."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The file could not be handled. `internal` marks a defect of devfix, as against one of the file."""

    reason: str
    internal: bool = False


CheckOutcome = Checked | Skipped | Failed
RewriteOutcome = Changed | Clean | Skipped | Failed
