"""`devfix explain`."""

from typing import Annotated

import typer

from devfix.commands import options
from devfix.formats import OutputFormat

Traceback = Annotated[
    str, typer.Argument(metavar="FILE", help="A file with a traceback in it, or - for standard input.")
]


def explain(file: Traceback, output_format: options.Format = OutputFormat.TEXT) -> int:
    """Say what a traceback from elsewhere means, and what the source here says about it."""
    from devfix.operations.explain import explain as run

    return run(file, output_format)
