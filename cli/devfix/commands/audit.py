"""`devfix audit`."""

from pathlib import Path
from typing import Annotated

import typer

from devfix.commands import options
from devfix.commands.repair import Arguments, Cwd, Devices, Env, Memory, On, Python, Script, Seed, Timeout, variables_of
from devfix.formats import OutputFormat

Steps = Annotated[int, typer.Option("--steps", metavar="N", min=1, help="End the run after N optimizer steps.")]


def audit(
    script: Script,
    arguments: Arguments = None,
    steps: Steps = 3,
    on: On = "auto",
    devices: Devices = 1,
    timeout: Timeout = 300.0,
    python: Python = None,
    env: Env = None,
    cwd: Cwd = None,
    seed: Seed = 0,
    memory: Memory = None,
    output_format: options.Format = OutputFormat.TEXT,
) -> int:
    """Run a script for a few steps: where everything lives, what is moved, and what is installed."""
    from devfix.auditing import Ask
    from devfix.auditing import audit as run
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
    return run(Ask(script, replay, output_format))
