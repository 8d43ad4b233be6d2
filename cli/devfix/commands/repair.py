"""`devfix repair`."""

from typing import Annotated

import typer

from devfix.commands import options, replaying
from devfix.commands.grouping import grouped
from devfix.commands.replay import Arguments, OptionalScript, Tests
from devfix.commands.rewrite import AllowDirty
from devfix.errors import UsageError
from devfix.formats import OutputFormat

Write = Annotated[bool, typer.Option("--write", help="Write the patch; `devfix undo` takes it back.")]
Seconds = Annotated[
    float, typer.Option("--max-seconds", metavar="SECONDS", min=1, help="Try nothing new after so long.")
]
MaxFixes = Annotated[int, typer.Option("--max-fixes", metavar="N", min=1, help="How many fixes to make at most.")]


@grouped
def repair(
    script: OptionalScript = None,
    arguments: Arguments = None,
    *,
    tests: Tests = False,
    write: Write = False,
    allow_dirty: AllowDirty = False,
    max_seconds: Seconds = 1800.0,
    max_fixes: MaxFixes = 10,
    run: replaying.RunOptions,
    quiet: options.Quiet = False,
    output_format: options.Format = OutputFormat.TEXT,
) -> int:
    """Run a script, diagnose its device error, patch a copy and run again, until it passes. Shows the patch."""
    from devfix import repairing

    if script is None and not tests:
        raise UsageError("name a script; --tests repairs what the tests of the project here reveal")
    given = tuple(arguments or ())
    if tests:
        given, script = (given if script is None else (script, *given)), None
        run = replaying.on_simulation(run)
    chosen = replaying.options_for(run, script or "pyproject.toml", given)
    return repairing.repair(
        repairing.Ask(script, chosen, max_seconds, max_fixes, write, allow_dirty, output_format, quiet)
    )
