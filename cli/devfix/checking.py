"""`devfix check`: what is wrong, and why."""

from devfix.analysis import Task
from devfix.formats import OutputFormat
from devfix.inputs import Ask, Outcome, gather
from devfix.reporting import json, text
from devfix.reporting.progress import progress
from devfix.reporting.terminal import err, out
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
    if ask.output_format is OutputFormat.JSON:
        json.report(outcome.results, outcome.errors)
    else:
        _report(ask, outcome)
    text.report_errors(outcome.errors, err())
    return outcome.exit_code(outcome.tally.problems > 0)


def _report(ask: Ask, outcome: Outcome) -> None:
    printer = out()
    text.report_findings(outcome.results, printer)
    if not ask.quiet:
        text.report_left_out(outcome.left_out, err())
        printer.line(*text.check_summary(outcome.tally, any(file.choice.unsafe for file in outcome.found.files)))
