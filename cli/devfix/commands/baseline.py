"""`devfix baseline`."""

from typing import Annotated

import typer

from devfix.commands import options
from devfix.commands.grouping import grouped

File = Annotated[str, typer.Option("--output-file", "-o", metavar="FILE", help="Where to record it.")]


@grouped
def baseline(
    paths: options.Paths = None, *, output_file: File = "devfix-baseline.json", analysis: options.AnalysisOptions
) -> int:
    """Record what is found today, so that `check --baseline FILE` reports only what is new."""
    from devfix.formats import ReportFormat
    from devfix.operations.check import baseline as run

    return run(analysis.ask(paths or (".",), analysis.overrides(), ReportFormat.TEXT), output_file)
