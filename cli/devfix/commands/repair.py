"""`devfix repair`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from devfix.commands import options
from devfix.commands.rewrite import AllowDirty
from devfix.errors import UsageError
from devfix.formats import OutputFormat

Script = Annotated[str, typer.Argument(metavar="SCRIPT", help="The script to run.")]
Arguments = Annotated[
    list[str] | None, typer.Argument(metavar="[-- ARGS]...", help="The script's own arguments, after `--`.")
]
Write = Annotated[bool, typer.Option("--write", help="Write the patch; `devfix undo` takes it back.")]
On = Annotated[
    str, typer.Option("--on", metavar="PLACE", help="Where to run: auto, cuda, xpu, mps, npu, simulated or cpu.")
]
Devices = Annotated[int, typer.Option("--devices", metavar="N", min=1, help="How many devices a simulation has.")]
Steps = Annotated[int | None, typer.Option("--steps", metavar="N", min=1, help="End each run after N optimizer steps.")]
Timeout = Annotated[float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="The limit for each run.")]
Seconds = Annotated[float, typer.Option("--max-seconds", min=1, help="Try nothing new after so long.")]
Python = Annotated[str | None, typer.Option("--python", metavar="FILE", help="The interpreter to run the script with.")]
Env = Annotated[list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="Set an environment variable.")]
Cwd = Annotated[str | None, typer.Option("--cwd", metavar="FOLDER", help="Run in this folder of the tree.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="The seed of every run.")]
Memory = Annotated[int | None, typer.Option("--memory", metavar="MIB", min=1, help="The memory limit of each run.")]
MaxFixes = Annotated[int, typer.Option("--max-fixes", metavar="N", min=1, help="How many fixes to make at most.")]


def repair(
    script: Script,
    arguments: Arguments = None,
    write: Write = False,
    allow_dirty: AllowDirty = False,
    on: On = "auto",
    devices: Devices = 1,
    steps: Steps = None,
    timeout: Timeout = 300.0,
    max_seconds: Seconds = 1800.0,
    max_fixes: MaxFixes = 10,
    python: Python = None,
    env: Env = None,
    cwd: Cwd = None,
    seed: Seed = 0,
    memory: Memory = None,
    quiet: options.Quiet = False,
    output_format: options.Format = OutputFormat.TEXT,
) -> int:
    """Run a script, diagnose its device error, patch a copy and run again, until it passes. Shows the patch."""
    from devfix.repairing import Ask
    from devfix.repairing import repair as run
    from devfix.replay.options import ReplayOptions, default_python

    replay = ReplayOptions(
        on=on,
        timeout=timeout,
        python=python or default_python(),
        args=tuple(arguments or ()),
        memory=None if memory is None else memory << 20,
        seed=seed,
        devices=devices,
        steps=steps,
        env=tuple(variables_of(env or ())),
        cwd=None if cwd is None else Path(cwd),
    )
    return run(Ask(script, replay, max_seconds, max_fixes, write, allow_dirty, output_format, quiet))


def variables_of(settings: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The names and values that `--env` gives.

    Raises:
        UsageError: one is not `NAME=VALUE`.
    """
    for setting in settings:
        name, given, value = setting.partition("=")
        if not name or not given:
            raise UsageError(f"--env {setting!r} is not NAME=VALUE")
        yield name, value
