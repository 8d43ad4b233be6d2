"""The report as one page that needs no network, and on which nothing of the analysed code can run.

What is put into the template is escaped (autoescape), after characters that hide or turn text were replaced; the policy
of the page allows its own script and style, by their hashes, and nothing else.
"""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files as package_files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from devfix import __version__
from devfix.reporting.html.findings import FileEntries, files_of
from devfix.reporting.html.rules import page_of
from devfix.reporting.html.summary import facets, torch_targets, with_shared_folders
from devfix.reporting.html.words import path, shown, ticked
from devfix.reporting.reports import Report
from devfix.reporting.tally import Tally
from devfix.reporting.text import count

PACKAGE = "devfix.reporting.html"


def document(report: Report) -> str:
    """The page, in ASCII: it reads the same whatever encoding it is written or served in."""
    files = files_of(report)
    return _template().render(_members(report, files)).encode("ascii", "xmlcharrefreplace").decode()


def _template() -> Template:
    environment = Environment(
        loader=PackageLoader(PACKAGE, "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"ticked": ticked, "path": path}
    return environment.get_template("report.html.jinja")


def _members(report: Report, files: Sequence[FileEntries]) -> dict[str, Any]:
    tally = Tally.of(report.results, report.errors)
    codes = sorted({entry.code for file in files for entry in file.entries})
    folders = with_shared_folders(files)
    style, script = _own("report.css"), _own("report.js")
    return {
        "version": __version__,
        "style": Markup(style),
        "script": Markup(script),
        "policy": _policy(script, style),
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
    found = f"{count(tally.problems, 'bug')} in {count(tally.problem_files, 'file')}"
    if tally.changed_files:
        return f"{fixed}, {tally.problems} left"
    return found if tally.problems else "No device bugs found"


def _own(name: str) -> str:
    """A file of this package that stands in the page as it is."""
    return package_files(PACKAGE).joinpath(name).read_text("ascii")


def _policy(script: str, style: str) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ]
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
