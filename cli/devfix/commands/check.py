"""`devfix check`."""

from dataclasses import replace
from typing import Annotated

import typer

from devfix.commands import options
from devfix.commands.grouping import grouped
from devfix.errors import UsageError

Statistics = Annotated[bool, typer.Option("--statistics", help="Only count: how often each rule finds something.")]
Baseline = Annotated[
    str | None, typer.Option("--baseline", metavar="FILE", help="Leave out the findings that this baseline has.")
]
NoBaseline = Annotated[bool, typer.Option("--no-baseline", help="Report what the baseline of the settings has, too.")]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Check again whenever a file or a setting changes.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Say of each file whether it was looked at, and else why not.")
]


@grouped
def check(
    paths: options.Paths = None,
    *,
    statistics: Statistics = False,
    baseline: Baseline = None,
    no_baseline: NoBaseline = False,
    watch: Watch = False,
    verbose: Verbose = False,
    analysis: options.PathOptions,
) -> int:
    """Say what is wrong, and why. Changes nothing."""
    from devfix.operations.check import check as run

    if baseline is not None and no_baseline:
        raise UsageError("--baseline and --no-baseline contradict each other")
    if verbose and analysis.quiet:
        raise UsageError("--verbose and --quiet contradict each other")
    asked = analysis.ask_for(paths)
    ask = replace(asked, baseline_file=baseline, use_baseline=not no_baseline, verbose=verbose)
    if watch:
        from devfix.operations.watch import watch as run_again

        return run_again(ask, statistics)
    return run(ask, statistics)
