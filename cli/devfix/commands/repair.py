"""`devfix repair`."""

import os
import sys
from typing import Annotated

import typer

from devfix.commands import options
from devfix.commands.rewrite import AllowDirty, On
from devfix.errors import UsageError
from devfix.formats import OutputFormat

Script = Annotated[str, typer.Argument(metavar="SCRIPT", help="The script to run.")]
Arguments = Annotated[
    list[str] | None, typer.Argument(metavar="[-- ARGS]...", help="The script's own arguments, after `--`.")
]
Write = Annotated[bool, typer.Option("--write", help="Write the patch; `devfix undo` takes it back.")]
RunOn = Annotated[On, typer.Option("--on", help="Where to run.")]
Devices = Annotated[int, typer.Option("--devices", metavar="N", min=1, help="How many devices a simulation has.")]
Steps = Annotated[int | None, typer.Option("--steps", metavar="N", min=1, help="End each run after N optimizer steps.")]
Timeout = Annotated[float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="The limit for each run.")]
Seconds = Annotated[float, typer.Option("--max-seconds", min=1, help="Try nothing new after so long.")]
Python = Annotated[str, typer.Option("--python", metavar="FILE", help="The interpreter to run the script with.")]
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
    on: RunOn = On.AUTO,
    devices: Devices = 1,
    steps: Steps = None,
    timeout: Timeout = 300.0,
    max_seconds: Seconds = 1800.0,
    max_fixes: MaxFixes = 10,
    python: Python = sys.executable,
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

    return run(
        Ask(
            script,
            tuple(arguments or ()),
            on=on.value,
            devices=devices,
            steps=steps,
            timeout=timeout,
            seconds=max_seconds,
            python=python,
            environment=_environment(env or ()),
            cwd=cwd,
            seed=seed,
            memory=None if memory is None else memory << 20,
            max_fixes=max_fixes,
            write=write,
            allow_dirty=allow_dirty,
            output_format=output_format,
            quiet=quiet,
        )
    )


def _environment(settings: list[str] | tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for setting in settings:
        name, given, value = setting.partition("=")
        if not name:
            raise UsageError(f"--env {setting!r} is not NAME=VALUE")
        found[name] = value if given else os.environ.get(name, "")
    return found
