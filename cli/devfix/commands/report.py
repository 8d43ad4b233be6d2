"""`devfix report`."""

from dataclasses import dataclass, replace
from typing import Annotated

import typer

from devfix.commands import options, replaying
from devfix.commands.check import Baseline, NoBaseline
from devfix.commands.grouping import grouped
from devfix.commands.rewrite import ReplayCommand, ReplayTests, RunOptions
from devfix.errors import UsageError
from devfix.formats import ReportFormat

OutputFile = Annotated[str, typer.Option("--output-file", "-o", metavar="FILE", help="Where to write the page.")]
Replay = Annotated[
    bool, typer.Option("--replay", help="Run each script before and after its patch, and show verdicts.")
]


@dataclass(frozen=True)
class ReportOptions(options.AnalysisOptions):
    """How to analyse for a page: what is unsafe counts too, because a page is for reading."""

    unsafe: options.Unsafe = True
    force_exclude: options.ForceExclude = False


@grouped
def report(
    paths: options.Paths = None,
    *,
    output_file: OutputFile = "devfix-report.html",
    replay: Replay = False,
    replay_command: ReplayCommand = None,
    replay_tests: ReplayTests = False,
    baseline: Baseline = None,
    no_baseline: NoBaseline = False,
    analysis: ReportOptions,
    run: RunOptions,
) -> int:
    """Write what is wrong, and why, into a page to read. Changes no code."""
    from devfix.operations import report as operation

    overrides = analysis.overrides(analysis.force_exclude)
    if baseline is not None and no_baseline:
        raise UsageError("--baseline and --no-baseline contradict each other")
    ask = replace(
        analysis.ask(paths or (".",), overrides, ReportFormat.HTML),
        output_file=output_file,
        baseline_file=baseline,
        use_baseline=not no_baseline,
    )
    if not replay and replay_command is None and not replay_tests:
        return operation.report(ask, None)
    return operation.report(ask, replaying.chosen(run, overrides, replay_command, replay_tests))
