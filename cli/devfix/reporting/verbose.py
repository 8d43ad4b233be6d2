"""What a run looked at and what it left alone, and why: a line for each file, then the sum."""

from collections.abc import Sequence

from devfix.reporting.tally import remaining
from devfix.reporting.terminal import Line, Printer, one_line
from devfix.reporting.text import count
from devfix.results import Checked, Failed, Result, Skipped

_ONLY_READ = "nothing in it that a chosen rule looks for"


def report_looked_at(results: Sequence[Result], skipped: Sequence[Skipped], printer: Printer) -> None:
    """`skipped` are the files and folders that were met and are not among the results."""
    printer.lines([_line(result) for result in results if not isinstance(result, Failed)])
    printer.lines([_line(entry) for entry in skipped])
    printer.line((_sum(results, skipped), ""))


def _line(result: Result) -> Line:
    verb, what = _told(result)
    return [(f"{verb} ", "faint"), (one_line(result.target.label), "path"), (f": {what}", "")]


def _told(result: Result) -> tuple[str, str]:
    if isinstance(result, Skipped):
        return "skipped", one_line(result.reason)
    if _is_only_read(result):
        return "read", _ONLY_READ
    found = len(remaining(result))
    silenced = f", {result.ignored} silenced by comments" if isinstance(result, Checked) and result.ignored else ""
    return "analysed", (count(found, "finding") if found else "nothing found") + silenced


def _is_only_read(result: Result) -> bool:
    return isinstance(result, Checked) and not result.analysed


def _sum(results: Sequence[Result], skipped: Sequence[Skipped]) -> str:
    """`Looked at 5214 files: 3162 analysed, 2052 only read. Skipped 3; 1 could not be handled.`"""
    looked_at = [result for result in results if not isinstance(result, Skipped | Failed)]
    only_read = sum(map(_is_only_read, looked_at))
    parts = [f"{len(looked_at) - only_read} analysed", *([f"{only_read} only read"] if only_read else [])]
    left = len(skipped) + sum(isinstance(result, Skipped) for result in results)
    failed = sum(isinstance(result, Failed) for result in results)
    rest = "; ".join([f"{left} skipped"] * bool(left) + [f"{failed} could not be handled"] * bool(failed))
    return f"Looked at {count(len(looked_at), 'file')}: {', '.join(parts)}.{f' {rest}.' if rest else ''}"
