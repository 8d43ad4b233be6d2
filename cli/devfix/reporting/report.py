"""What a whole run found, and what replays said of it: what every format of report tells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devfix_codemods.source import Span

from devfix.project.settings import Choice
from devfix.results import Failed, Result


@dataclass(frozen=True)
class FixVerdict:
    """What a replay says of one fix, that of the finding with this code, message and span, and why if it knows."""

    code: str
    message: str
    span: Span
    kind: str
    reason: str = ""


@dataclass(frozen=True)
class Verdict:
    """What a replay says of the fixes of the file at `path`, an absolute one: `confirmed`, `refuted` …

    `lines` are the reasons, a line each.
    """

    path: str
    kind: str
    lines: tuple[str, ...] = ()
    fixes: tuple[FixVerdict, ...] = ()


@dataclass(frozen=True)
class Report:
    """What a run found. `extra` are further members of the JSON document, `choices` those that hold for its files.

    `known` is how many findings a baseline has, which are not among the results.
    """

    results: Sequence[Result]
    errors: Sequence[Failed]
    unsafe: bool = False
    verdicts: tuple[Verdict, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    choices: frozenset[Choice] = frozenset()
    known: int = 0
