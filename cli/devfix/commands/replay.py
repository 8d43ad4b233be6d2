"""`devfix replay`."""

from typing import TYPE_CHECKING, Annotated

import typer

from devfix.commands import options, replaying
from devfix.commands.grouping import grouped
from devfix.errors import UsageError
from devfix.formats import OutputFormat, ReportFormat

if TYPE_CHECKING:
    from devfix.replay import Program, ReplayOptions

Script = Annotated[str, typer.Argument(metavar="SCRIPT", help="The script to run.")]
OptionalScript = Annotated[str | None, typer.Argument(metavar="[SCRIPT]", help="The script to run.")]
Tests = Annotated[
    bool,
    typer.Option("--tests", help="Run the project's own tests, all they make on the device. ARGS are pytest's."),
]
Arguments = Annotated[
    list[str] | None, typer.Argument(metavar="[-- ARGS]...", help="The script's own arguments, after `--`.")
]
PatchFile = Annotated[
    str | None, typer.Option("--patch", metavar="FILE", help="Judge this unified diff, or - for standard input.")
]


@grouped
def replay(
    script: OptionalScript = None,
    arguments: Arguments = None,
    *,
    tests: Tests = False,
    patch: PatchFile = None,
    run: replaying.JudgingOptions,
    analysis: options.AnalysisOptions,
    output_format: options.Format = OutputFormat.TEXT,
) -> int:
    """Run a script as it is and as its fixes, or a patch, would make it. Changes nothing."""
    from devfix.operations import replay as operation

    if script is None and not tests:
        raise UsageError("name a script; --tests runs the tests of the project here")
    overrides = analysis.overrides()
    given = tuple(arguments or ())
    if tests:
        given, script = (given if script is None else (script, *given)), None
        run = replaying.on_simulation(run)

    def replay_options(program: "Program") -> "ReplayOptions":
        folder = program.script if program.is_suite else program.script.parent
        return replaying.replay_options(run, overrides, folder, program)

    ask = analysis.ask([] if script is None else [script], overrides, ReportFormat(output_format))
    return operation.replay(operation.Order(script, given, ask, replay_options, patch))
