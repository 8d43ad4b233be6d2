"""`devfix replay`."""

from typing import TYPE_CHECKING, Annotated

import typer

from devfix.commands import options, replaying
from devfix.formats import OutputFormat

if TYPE_CHECKING:
    from devfix.replay import Program, ReplayOptions

Script = Annotated[str, typer.Argument(metavar="SCRIPT", help="The script to run.")]
Arguments = Annotated[
    list[str] | None, typer.Argument(metavar="[-- ARGS]...", help="The script's own arguments, after `--`.")
]
PatchFile = Annotated[
    str | None, typer.Option("--patch", metavar="FILE", help="Judge this unified diff, or - for standard input.")
]


def replay(
    script: Script,
    arguments: Arguments = None,
    patch: PatchFile = None,
    unsafe: options.Unsafe = None,
    on: replaying.Where = None,
    devices: replaying.Devices = None,
    steps: replaying.Steps = None,
    seed: replaying.Seed = None,
    python: replaying.Python = None,
    env: replaying.Env = None,
    cwd: replaying.Cwd = None,
    timeout: replaying.Timeout = None,
    memory: replaying.Memory = None,
    output_limit: replaying.OutputLimit = None,
    copy_limit: replaying.CopyLimit = None,
    keep: replaying.Keep = False,
    select: options.Select = None,
    ignore: options.Ignore = None,
    target_torch: options.TargetTorch = None,
    prefer: options.PreferDevice = None,
    exclude: options.Exclude = None,
    jobs: options.Jobs = None,
    no_cache: options.NoCache = False,
    quiet: options.Quiet = False,
    output_format: options.Format = OutputFormat.TEXT,
    config: options.Config = None,
    isolated: options.Isolated = False,
) -> int:
    """Run a script as it is and as its fixes, or a patch, would make it. Changes nothing."""
    from devfix.replaying import Order
    from devfix.replaying import replay as run

    overrides = options.overrides_of(
        select, ignore, exclude, unsafe, target_torch, prefer, jobs, False, config, isolated
    )
    ask = options.ask_of([script], overrides, output_format, quiet, no_cache, None)
    given = replaying.Given(on, devices, steps, seed, python, env, cwd, timeout, memory, output_limit, copy_limit, keep)

    def replay_options(program: "Program") -> "ReplayOptions":
        return replaying.replay_options(given, overrides, program.script.parent, program)

    return run(Order(script, tuple(arguments or ()), ask, replay_options, patch))
