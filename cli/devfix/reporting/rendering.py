"""A whole run as one document, in the formats that other programs read."""

from devfix.formats import ReportFormat
from devfix.reporting.report import Report


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
