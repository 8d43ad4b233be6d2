"""`devfix audit`."""

from dataclasses import dataclass
from typing import Annotated

import typer

from devfix.commands import options, replaying
from devfix.commands.grouping import grouped
from devfix.commands.replay import Arguments, Script
from devfix.formats import OutputFormat

Steps = Annotated[int, typer.Option("--steps", metavar="N", min=1, help="End the run after N optimizer steps.")]


@dataclass(frozen=True)
class AuditOptions(replaying.RunOptions):
    """How to run the audited script: always for a few steps."""

    steps: Steps = 3


@grouped
def audit(
    script: Script,
    arguments: Arguments = None,
    *,
    run: AuditOptions,
    output_format: options.Format = OutputFormat.TEXT,
) -> int:
    """Run a script for a few steps: where everything lives, what is moved, and what is installed."""
    from devfix.operations import audit as operation

    return operation.audit(operation.Ask(script, replaying.options_for(run, script, arguments or ()), output_format))
