"""`devfix rewrite`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from devfix.commands import options, replaying
from devfix.commands.grouping import grouped

Diff = Annotated[bool, typer.Option("--diff", "--dry-run", help="Show the patch, write nothing.")]
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
ReplayTimeout = Annotated[
    float | None,
    typer.Option("--timeout", "--replay-timeout", metavar="SECONDS", min=0.1, help="The limit for each run (300)."),
]


@dataclass(frozen=True)
class RunOptions(replaying.RunOptions):
    """How to run the changed scripts; the limit of time also goes by the longer name."""

    timeout: ReplayTimeout = None


@grouped
def rewrite(
    paths: options.Paths = None,
    *,
    diff: Diff = False,
    add_guards: AddGuards = False,
    allow_dirty: AllowDirty = False,
    replay: Replay = False,
    replay_command: ReplayCommand = None,
    analysis: options.PathOptions,
    run: RunOptions,
) -> int:
    """Repair what has a safe fix. `devfix undo` takes it back."""
    from devfix import rewriting

    ask = analysis.ask_for(paths, add_guards)
    if not replay and replay_command is None:
        return rewriting.rewrite(ask, rewriting.Mode(diff, allow_dirty))
    program = None if replay_command is None else replaying.program_of(replay_command, run)
    options_of_runs = replaying.replay_options(run, ask.overrides, Path.cwd(), program)
    return rewriting.rewrite(ask, rewriting.Mode(diff, allow_dirty, options_of_runs))
