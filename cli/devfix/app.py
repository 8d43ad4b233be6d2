"""The command line. Commands import what they need when they run, so that the start stays quick."""

import importlib
import os
from collections.abc import Sequence
from typing import Annotated

import typer

from devfix import __version__
from devfix.commands import options
from devfix.commands.completion import COMPLETION
from devfix.formats import Colour

COMMANDS = (
    *("check", "rewrite", "review", "report", "replay", "repair", "explain", "undo"),
    *("baseline", "rules", "rule", "audit", "server", "completion", "batch"),
)
"""In the order of the help. Each is in a module of its name, but for `rule`, which is beside `rules`."""


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """The application that a command line needs: the one command that it begins with, or all of them."""
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
    app.callback()(_devfix)
    for name in arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS:
        module = importlib.import_module(f"devfix.commands.{'rules' if name == 'rule' else name}")
        command = getattr(module, name)
        if isinstance(command, typer.Typer):
            app.add_typer(command)
        else:
            app.command()(command)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"devfix {__version__}")
        raise typer.Exit


def _devfix(
    version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, callback=_show_version, help="Show the version.")
    ] = False,
    color: options.WithColour = Colour.AUTO,
) -> None:
    """Finds, repairs and proves device-placement bugs in PyTorch code."""
