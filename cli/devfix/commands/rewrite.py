"""`devfix rewrite`."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from devfix.commands import options, replaying
from devfix.formats import OutputFormat

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


def rewrite(
    paths: options.Paths = None,
    diff: Diff = False,
    unsafe: options.Unsafe = None,
    add_guards: AddGuards = False,
    allow_dirty: AllowDirty = False,
    replay: Replay = False,
    replay_command: ReplayCommand = None,
    on: replaying.Where = None,
    devices: replaying.Devices = None,
    steps: replaying.Steps = None,
    seed: replaying.Seed = None,
    python: replaying.Python = None,
    env: replaying.Env = None,
    cwd: replaying.Cwd = None,
    timeout: ReplayTimeout = None,
    memory: replaying.Memory = None,
    output_limit: replaying.OutputLimit = None,
    copy_limit: replaying.CopyLimit = None,
    keep: replaying.Keep = False,
    select: options.Select = None,
    ignore: options.Ignore = None,
    target_torch: options.TargetTorch = None,
    prefer: options.PreferDevice = None,
    exclude: options.Exclude = None,
    force_exclude: options.ForceExclude = False,
    jobs: options.Jobs = None,
    no_cache: options.NoCache = False,
    quiet: options.Quiet = False,
    output_format: options.Format = OutputFormat.TEXT,
    stdin_filename: options.StdinFilename = None,
    config: options.Config = None,
    isolated: options.Isolated = False,
) -> int:
    """Repair what has a safe fix. `devfix undo` takes it back."""
    from devfix.rewriting import Mode
    from devfix.rewriting import rewrite as run

    overrides = options.overrides_of(
        select, ignore, exclude, unsafe, target_torch, prefer, jobs, force_exclude, config, isolated
    )
    overrides = dataclasses.replace(overrides, guards=add_guards)
    ask = options.ask_of(paths, overrides, output_format, quiet, no_cache, stdin_filename)
    if not replay and replay_command is None:
        return run(ask, Mode(diff, allow_dirty))
    given = replaying.Given(on, devices, steps, seed, python, env, cwd, timeout, memory, output_limit, copy_limit, keep)
    program = None if replay_command is None else replaying.program_of(replay_command, given)
    return run(ask, Mode(diff, allow_dirty, replaying.replay_options(given, overrides, Path.cwd(), program)))
