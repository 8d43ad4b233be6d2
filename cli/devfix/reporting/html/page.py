"""The report of one run."""

from collections.abc import Sequence
from typing import Any

from devfix.reporting.html.findings import FileEntries, files_of
from devfix.reporting.html.framing import PACKAGE, SCRIPT, STYLE, page
from devfix.reporting.html.rules import page_of
from devfix.reporting.html.summary import facets, torch_targets, with_shared_folders
from devfix.reporting.report import Report
from devfix.reporting.tally import Tally
from devfix.reporting.text import count, found_in


def document(report: Report) -> str:
    """The page, in ASCII."""
    members = _members(report, files_of(report))
    return "".join(page((PACKAGE, "report.html.jinja"), members, [STYLE], [SCRIPT, (PACKAGE, "report.js")]))


def _members(report: Report, files: Sequence[FileEntries]) -> dict[str, Any]:
    tally = Tally.of(report.results, report.errors)
    codes = sorted({entry.code for file in files for entry in file.entries})
    folders = with_shared_folders(files)
    return {
        "headline": _headline(tally),
        "tally": tally,
        "known": report.known,
        "files": files,
        "folders": folders,
        "facets": facets(files, folders),
        "errors": report.errors,
        "torch": torch_targets(report),
        "rules": [page for code in codes if (page := page_of(code)) is not None],
    }


def _headline(tally: Tally) -> str:
    fixed = f"{count(tally.fixed, 'bug')} fixed in {count(tally.changed_files, 'file')}"
    found = f"{found_in(tally)} in {count(tally.problem_files, 'file')}"
    if tally.changed_files:
        return f"{fixed}, {tally.problems} left"
    return found if tally.problems else "No device bugs found"
