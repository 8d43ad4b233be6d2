"""The command line. Commands import what they need when they run, so that the start stays quick."""

import os
from typing import Annotated

import typer

from devfix import __version__
from devfix.commands import options
from devfix.commands.audit import audit
from devfix.commands.baseline import baseline
from devfix.commands.batch import batch
from devfix.commands.check import check
from devfix.commands.completion import COMPLETION, completion
from devfix.commands.explain import explain
from devfix.commands.repair import repair
from devfix.commands.replay import replay
from devfix.commands.report import report
from devfix.commands.review import review
from devfix.commands.rewrite import rewrite
from devfix.commands.rules import rule, rules
from devfix.commands.server import server
from devfix.commands.undo import undo
from devfix.formats import Colour

app = typer.Typer(
    name="devfix",
    help="Finds, repairs and proves device-placement bugs in PyTorch code.",
    epilog="Exit codes: 0 nothing left to do, 1 something is, 2 wrong usage or a file that could not be handled.",
    no_args_is_help=True,
    add_completion=COMPLETION in os.environ,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"devfix {__version__}")
        raise typer.Exit


@app.callback()
def _devfix(
    version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, callback=_show_version, help="Show the version.")
    ] = False,
    color: options.WithColour = Colour.AUTO,
) -> None:
    """Finds, repairs and proves device-placement bugs in PyTorch code."""


_COMMANDS = (
    *(check, rewrite, review, report, replay, repair, explain, undo),
    *(baseline, rules, rule, audit, server, completion),
)
for command in _COMMANDS:
    app.command()(command)
app.add_typer(batch)
