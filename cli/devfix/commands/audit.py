"""`devfix audit`."""

from typing import Annotated

import typer

from devfix.commands import options, replaying
from devfix.commands.replay import Arguments, Script
from devfix.formats import OutputFormat

Steps = Annotated[int, typer.Option("--steps", metavar="N", min=1, help="End the run after N optimizer steps.")]


def audit(
    script: Script,
    arguments: Arguments = None,
    on: replaying.Where = None,
    devices: replaying.Devices = None,
    steps: Steps = 3,
    seed: replaying.Seed = None,
    python: replaying.Python = None,
    env: replaying.Env = None,
    cwd: replaying.Cwd = None,
    timeout: replaying.Timeout = None,
    memory: replaying.Memory = None,
    output_limit: replaying.OutputLimit = None,
    copy_limit: replaying.CopyLimit = None,
    keep: replaying.Keep = False,
    output_format: options.Format = OutputFormat.TEXT,
) -> int:
    """Run a script for a few steps: where everything lives, what is moved, and what is installed."""
    from devfix.auditing import Ask
    from devfix.auditing import audit as run

    given = replaying.Given(on, devices, steps, seed, python, env, cwd, timeout, memory, output_limit, copy_limit, keep)
    return run(Ask(script, replaying.options_for(given, script, arguments or ()), output_format))
