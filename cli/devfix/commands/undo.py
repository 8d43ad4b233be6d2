"""`devfix undo`."""

from typing import Annotated

import typer

RunName = Annotated[str | None, typer.Argument(metavar="[RUN]", help="A run from `--list`; without it the last one.")]
ListRuns = Annotated[bool, typer.Option("--list", help="The runs that can be undone here.")]


def undo(run: RunName = None, list_runs: ListRuns = False) -> int:
    """Bring back the files of the last rewrite that touched this folder."""
    from devfix.operations import undo as operation

    return operation.show_runs() if list_runs else operation.undo(run)
