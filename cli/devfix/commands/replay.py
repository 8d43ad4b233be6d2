"""`devfix replay`."""

from typing import TYPE_CHECKING, Annotated

import typer

from devfix.commands import options, replaying
from devfix.commands.grouping import grouped
from devfix.formats import OutputFormat, ReportFormat

if TYPE_CHECKING:
    from devfix.replay import Program, ReplayOptions

Script = Annotated[str, typer.Argument(metavar="SCRIPT", help="The script to run.")]
Arguments = Annotated[
    list[str] | None, typer.Argument(metavar="[-- ARGS]...", help="The script's own arguments, after `--`.")
]
PatchFile = Annotated[
    str | None, typer.Option("--patch", metavar="FILE", help="Judge this unified diff, or - for standard input.")
]


@grouped
def replay(
    script: Script,
    arguments: Arguments = None,
    *,
    patch: PatchFile = None,
    run: replaying.RunOptions,
    analysis: options.AnalysisOptions,
    output_format: options.Format = OutputFormat.TEXT,
) -> int:
    """Run a script as it is and as its fixes, or a patch, would make it. Changes nothing."""
    from devfix.operations import replay as operation

    overrides = analysis.overrides()

    def replay_options(program: "Program") -> "ReplayOptions":
        return replaying.replay_options(run, overrides, program.script.parent, program)

    ask = analysis.ask([script], overrides, ReportFormat(output_format))
    return operation.replay(operation.Order(script, tuple(arguments or ()), ask, replay_options, patch))
