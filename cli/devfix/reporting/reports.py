"""A whole run as one document, in the formats that other programs read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devfix_codemods.source import Span

from devfix.formats import ReportFormat
from devfix.results import Failed, Result
from devfix.settings import Choice


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


def rendered(report: Report, output_format: ReportFormat) -> str:
    """The document, with its last line end."""
    text = _text(report, output_format)
    return f"{text}\n" if text else ""


def _text(report: Report, output_format: ReportFormat) -> str:
    from devfix.reporting import github, gitlab, json, junit, sarif

    match output_format:
        case ReportFormat.SARIF:
            return sarif.document(report.results, report.errors)
        case ReportFormat.GITHUB:
            return github.document(report.results, report.errors)
        case ReportFormat.GITLAB:
            return gitlab.document(report.results, report.errors)
        case ReportFormat.JUNIT:
            return junit.document(report.results, report.errors)
        case ReportFormat.HTML:
            from devfix.reporting.html import page

            return page.document(report)
        case _:
            return json.document(report.results, report.errors, report.extra)
