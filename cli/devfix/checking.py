"""`devfix check`: what is wrong, and why."""

from devfix.analysis import Task
from devfix.formats import ReportFormat
from devfix.inputs import Ask, Outcome, gather
from devfix.reporting import text
from devfix.reporting.destination import destination
from devfix.reporting.progress import progress
from devfix.reporting.reports import Report, rendered
from devfix.reporting.terminal import Printer, err
from devfix.running import Request, run


def check(ask: Ask) -> int:
    """Report on all files and answer the exit code.

    Raises:
        UsageError: the run cannot start.
    """
    found = gather(ask)
    with progress("Checking", ask.quiet) as advance:
        results = run(found.files, Request(Task.CHECK, ask.jobs()), ask.cache(), advance)
    outcome = Outcome(found, tuple(results))
    with destination(ask.output_file) as stream:
        if ask.output_format is ReportFormat.TEXT:
            _report(ask, outcome, Printer(stream))
        else:
            report = Report(outcome.results, outcome.errors, outcome.unsafe)
            stream.write(rendered(report, ask.output_format))
    text.report_errors(outcome.errors, err())
    return outcome.exit_code(outcome.tally.problems > 0)


def _report(ask: Ask, outcome: Outcome, printer: Printer) -> None:
    text.report_findings(outcome.results, printer)
    if not ask.quiet:
        text.report_left_out(outcome.left_out, err())
        printer.line(*text.check_summary(outcome.tally, outcome.unsafe))
