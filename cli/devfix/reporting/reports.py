"""A whole run as one document, in the formats that other programs read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devfix.formats import ReportFormat
from devfix.results import Failed, Result


@dataclass(frozen=True)
class Verdict:
    """What a replay says of the fixes of one file: `confirmed`, `refuted` …, and the reasons, a line each."""

    path: str
    kind: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """What a run found. `extra` are further members of the JSON document."""

    results: Sequence[Result]
    errors: Sequence[Failed]
    unsafe: bool = False
    verdicts: tuple[Verdict, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


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
        case _:
            return json.document(report.results, report.errors, report.extra)
