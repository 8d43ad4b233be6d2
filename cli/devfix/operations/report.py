"""`devfix report`: a page to read, with what running the changed scripts proved where that is asked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from devfix.analysis.jobs import Task
from devfix.analysis.runner import Request, run
from devfix.errors import UsageError
from devfix.formats import ReportFormat
from devfix.operations.check import analyse, report_of, without_baseline
from devfix.operations.inputs import Ask, Outcome
from devfix.operations.rewrite import replayed, verdict_of
from devfix.reporting import text
from devfix.reporting.destination import destination
from devfix.reporting.progress import progress
from devfix.reporting.rendering import rendered
from devfix.reporting.report import Verdict
from devfix.reporting.terminal import err, one_line, out
from devfix.results import Checked, Result, Rewritten

if TYPE_CHECKING:
    from devfix.replay import ReplayOptions


def report(ask: Ask, replay: "ReplayOptions | None") -> int:
    """Write the page, say where it is, and return the exit code. No analysed file is written.

    Raises:
        UsageError: the run cannot start, or the page cannot be written.
    """
    if ask.reads_standard_input and replay is not None:
        raise UsageError("--replay needs a file that can be run, not `-`")
    outcome = without_baseline(ask, analyse(ask))
    verdicts = _verdicts(ask, outcome, replay) if replay is not None else ()
    with destination(ask.output_file) as stream:
        stream.write(rendered(report_of(outcome, verdicts), ReportFormat.HTML))
    text.report_errors(outcome.errors, err())
    if not ask.quiet:
        _tell(ask, outcome, verdicts)
    return outcome.exit_code(outcome.tally.problems > 0)


def _verdicts(ask: Ask, outcome: Outcome, options: "ReplayOptions") -> tuple[Verdict, ...]:
    """What running says of the fixes of each file that has some."""
    pairs = zip(outcome.found.files, outcome.results)
    files = [file for file, result in pairs if _is_fixable(result) and not file.target.outside]
    with progress("Rewriting", ask.quiet) as advance:
        request = Request(Task.REWRITE, ask.jobs(), detailed=False)
        rewritten = run(files, request, ask.cache(), advance)
    changed = [result for result in rewritten if isinstance(result, Rewritten)]
    choices = {file.target.path: file.choice for file in files}
    return tuple(map(verdict_of, replayed(changed, choices, options, ask.quiet))) if changed else ()


def _is_fixable(result: Result) -> bool:
    return isinstance(result, Checked) and any(problem.fixable for problem in result.problems)


def _tell(ask: Ask, outcome: Outcome, verdicts: Sequence[Verdict]) -> None:
    """`devfix-report.html: 3 bugs in 2 files (12 files checked): 2 safe, 1 unsafe; replay: 1 confirmed`"""
    tally = outcome.tally
    known = f", {outcome.known} in the baseline" if outcome.known else ""
    checked = f"({text.count(tally.files, 'file')} checked{known})"
    found = f"{text.found_in(tally)} in {text.count(tally.problem_files, 'file')} {checked}"
    by_hand = tally.problems - tally.safe - tally.unsafe - tally.reviewable
    numbers = {"safe": tally.safe, "unsafe": tally.unsafe, "suggested": tally.reviewable, "by hand": by_hand}
    fixes = _counts(numbers)
    replays = _counts(Counter(verdict.kind.replace("_", " ") for verdict in verdicts))
    told = f"{found}: {fixes}" if tally.problems else f"no device bugs found {checked}"
    line = told + (f"; replay: {replays}" if replays else "")
    out().line((one_line(ask.output_file or ""), "path"), (f": {line}", ""))


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {what}" for what, number in numbers.items() if number)
