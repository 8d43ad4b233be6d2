"""`devfix review`."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from devfix.commands import options, replaying
from devfix.commands.check import Baseline, NoBaseline
from devfix.commands.grouping import grouped
from devfix.commands.rewrite import AllowDirty, ReplayCommand, ReplayTests
from devfix.formats import ReportFormat

if TYPE_CHECKING:
    from devfix.replay import ReplayOptions

Files = Annotated[list[str] | None, typer.Argument(metavar="[PATH]...", help="Files and folders.")]
Plain = Annotated[bool, typer.Option("--plain", help="Ask line by line; answers may come from a pipe.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the review of these paths that was interrupted.")]
Restart = Annotated[bool, typer.Option("--restart", help="Begin anew, and drop what was decided before.")]


@grouped
def review(
    paths: Files = None,
    *,
    plain: Plain = False,
    resume: Resume = False,
    restart: Restart = False,
    allow_dirty: AllowDirty = False,
    replay_command: ReplayCommand = None,
    replay_tests: ReplayTests = False,
    force_exclude: options.ForceExclude = False,
    baseline: Baseline = None,
    no_baseline: NoBaseline = False,
    analysis: options.AnalysisOptions,
    run: replaying.JudgingOptions,
) -> int:
    """Accept or refuse each fix on a full screen. Writes what was accepted, after a last look."""
    from devfix.review import command

    overrides = analysis.overrides(force_exclude)

    def replay_options() -> "ReplayOptions":
        return replaying.chosen(run, overrides, replay_command, replay_tests)

    ask = analysis.ask(paths or ["."], overrides, ReportFormat.TEXT)
    ask = replace(ask, baseline_file=baseline, use_baseline=not no_baseline)
    return command.review(ask, command.Mode(replay_options, plain, resume, restart, allow_dirty))
