"""`devfix check`: what is wrong, and why."""

from devfix.analysis import Task
from devfix.formats import OutputFormat
from devfix.inputs import Ask, exit_code, gather
from devfix.reporting import json, text
from devfix.reporting.progress import progress
from devfix.reporting.terminal import err, out
from devfix.results import Failed, Skipped
from devfix.running import Request, run


def check(ask: Ask) -> int:
    """Report on all files and answer the exit code.

    Raises:
        UsageError: the run cannot start.
    """
    found = gather(ask)
    with progress("Checking", ask.quiet) as advance:
        results = run(found.files, Request(Task.CHECK, ask.jobs()), ask.cache(), advance)
    tally = text.Tally.of(results)
    errors = [*found.errors, *(result for result in results if isinstance(result, Failed))]
    if ask.output_format is OutputFormat.JSON:
        json.report(results, errors)
    else:
        printer = out()
        text.report_findings(results, printer)
        if not ask.quiet:
            skipped = [*found.skipped, *(result for result in results if isinstance(result, Skipped))]
            text.report_left_out(skipped, err())
            printer.line(*text.check_summary(tally, any(file.choice.unsafe for file in found.files)))
    text.report_errors(errors, err())
    return exit_code(found, results, tally.problems > 0)
