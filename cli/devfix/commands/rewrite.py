"""`devfix rewrite`."""

from dataclasses import dataclass, replace
from typing import Annotated

import typer

from devfix.commands import options, replaying
from devfix.commands.grouping import grouped
from devfix.errors import UsageError

Diff = Annotated[bool, typer.Option("--diff", "--dry-run", help="Show the patch, write nothing.")]
SideBySide = Annotated[bool, typer.Option("--side-by-side", help="Show the patch in two columns.")]
AllowDirty = Annotated[bool, typer.Option("--allow-dirty", help="Write files that have uncommitted changes.")]
AddGuards = Annotated[
    bool,
    typer.Option("--add-guards", help="Also assert that each model is on its device before its loop."),
]
Replay = Annotated[bool, typer.Option("--replay", help="Run each changed script before and after its patch.")]
ReplayCommand = Annotated[
    str | None,
    typer.Option("--replay-command", metavar="COMMAND", help='What to run instead: "python train.py --epochs 1".'),
]
ReplayTests = Annotated[
    bool,
    typer.Option("--replay-tests", help="Run the project's own tests instead, all they make on the device."),
]
ReplayTimeout = Annotated[
    float | None,
    typer.Option("--timeout", "--replay-timeout", metavar="SECONDS", min=0.1, help="The limit for each run (300)."),
]


@dataclass(frozen=True)
class RunOptions(replaying.JudgingOptions):
    """How to run the changed scripts; the limit of time also goes by the longer name."""

    timeout: ReplayTimeout = None


@grouped
def rewrite(
    paths: options.Paths = None,
    *,
    diff: Diff = False,
    side_by_side: SideBySide = False,
    add_guards: AddGuards = False,
    allow_dirty: AllowDirty = False,
    replay: Replay = False,
    replay_command: ReplayCommand = None,
    replay_tests: ReplayTests = False,
    analysis: options.PathOptions,
    run: RunOptions,
) -> int:
    """Repair what has a safe fix. `devfix undo` takes it back."""
    from devfix.operations import rewrite as operation

    if side_by_side and not diff:
        raise UsageError("--side-by-side is a way to show the patch: it goes with --diff")
    ask = analysis.ask_for(paths, add_guards)
    mode = operation.Mode(diff, allow_dirty, side_by_side=side_by_side)
    if not replay and replay_command is None and not replay_tests:
        return operation.rewrite(ask, mode)
    options_of_runs = replaying.chosen(run, ask.overrides, replay_command, replay_tests)
    return operation.rewrite(ask, replace(mode, replay=options_of_runs))
