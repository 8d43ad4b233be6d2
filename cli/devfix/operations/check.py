"""`devfix check`: what is wrong, and why. `devfix baseline`: accept it for now."""

from dataclasses import replace
from typing import TYPE_CHECKING

from devfix.analysis.jobs import Task
from devfix.analysis.runner import Request, run
from devfix.errors import UsageError
from devfix.formats import ReportFormat
from devfix.operations.inputs import Ask, Outcome, gather
from devfix.reporting import text
from devfix.reporting.destination import destination
from devfix.reporting.progress import progress
from devfix.reporting.terminal import Printer, err, one_line, out

if TYPE_CHECKING:
    from devfix.operations.baselines import Entry
    from devfix.reporting.report import Report, Verdict

_MOST_STALE = 5
"""How many stale entries of a baseline are named."""


def check(ask: Ask, statistics_only: bool = False) -> int:
    """Report on all files, and return the exit code. With `statistics_only`, count the findings of each rule instead.

    Raises:
        UsageError: the run cannot start.
    """
    if statistics_only and ask.output_format not in (ReportFormat.TEXT, ReportFormat.JSON):
        raise UsageError(f"--statistics has no {ask.output_format} format; take text or json")
    outcome = without_baseline(ask, analyse(ask))
    if ask.verbose:
        _report_each_file(outcome)
    with destination(ask.output_file) as stream:
        if statistics_only:
            stream.write(_statistics(ask, outcome))
        elif ask.output_format is ReportFormat.TEXT:
            _report(ask, outcome, Printer(stream))
        else:
            from devfix.reporting.rendering import rendered

            stream.write(rendered(report_of(outcome), ask.output_format))
    text.report_errors(outcome.errors, err())
    return outcome.exit_code(outcome.tally.problems > 0)


def report_of(outcome: Outcome, verdicts: "tuple[Verdict, ...]" = ()) -> "Report":
    """A report for the formats other than text."""
    from devfix.reporting.report import Report

    choices = outcome.found.choices
    return Report(outcome.results, outcome.errors, outcome.unsafe, verdicts, choices=choices, known=outcome.known)


def baseline(ask: Ask, file: str) -> int:
    """Record all that is found now, and return the exit code.

    Raises:
        UsageError: the run cannot start, or the file cannot be written.
    """
    if ask.reads_standard_input:
        raise UsageError("a baseline is of files, not of `-`")
    from devfix.operations import baselines

    outcome = analyse(ask)
    recorded = baselines.record(file, outcome.results)
    if not ask.quiet:
        out().line((f"Recorded {text.count(recorded, 'finding')} in {one_line(file)}.", ""))
    text.report_errors(outcome.errors, err())
    return outcome.exit_code(False)


def analyse(ask: Ask) -> Outcome:
    """Find the files that were named, and check each. What is in the baseline is still there.

    Raises:
        UsageError: the run cannot start.
    """
    found = gather(ask)
    with progress("Checking", ask.quiet) as advance:
        results = run(found.files, Request(Task.CHECK, ask.jobs()), ask.cache(), advance)
    return Outcome(found, tuple(results))


def without_baseline(ask: Ask, outcome: Outcome) -> Outcome:
    """`outcome` without the findings that are in the baseline. Stale entries of it are reported.

    Raises:
        UsageError: the baseline cannot be read.
    """
    file = ask.baseline()
    if file is None:
        return outcome
    from devfix.operations import baselines
    from devfix.rules.selection import options_of

    rules_that_ran = {options_of(one.choice) for one in outcome.found.files}
    split = baselines.sift(file, outcome.results, rules_that_ran)
    if split.stale and not ask.quiet:
        _report_stale(file, split.stale)
    return replace(outcome, results=tuple(split.results), known=split.known)


def _report_stale(file: str, stale: "tuple[Entry, ...]") -> None:
    entries = f"{len(stale)} entries are" if len(stale) > 1 else "1 entry is"
    err().line((f"baseline {one_line(file)}: {entries} stale; `devfix baseline` records it anew", "unsafe"))
    for entry in stale[:_MOST_STALE]:
        err().line((f"  {one_line(entry.path)}: {entry.code}: {one_line(entry.text)}", "faint"))
    if len(stale) > _MOST_STALE:
        err().line((f"  and {len(stale) - _MOST_STALE} more", "faint"))


def _report_each_file(outcome: Outcome) -> None:
    from devfix.reporting.verbose import report_looked_at

    report_looked_at(outcome.results, [*outcome.found.excluded, *outcome.found.skipped], err())


def _statistics(ask: Ask, outcome: Outcome) -> str:
    from devfix.reporting import json, statistics

    rows = statistics.count(outcome.results)
    if ask.output_format is ReportFormat.JSON:
        errors = json.errors_of(outcome.errors)
        return json.encode({"version": json.VERSION, "statistics": rows, "errors": errors}) + "\n"
    return statistics.table(rows)


def _report(ask: Ask, outcome: Outcome, printer: Printer) -> None:
    text.report_findings(outcome.results, printer)
    if not ask.quiet:
        if not ask.verbose:
            text.report_left_out(outcome.left_out, err())
        printer.line(*text.check_summary(outcome.tally, outcome.unsafe, outcome.known))
