"""`devfix rules` and `devfix rule`."""

from typing import Annotated

import typer

from devfix.commands import completing, options
from devfix.formats import OutputFormat

Code = Annotated[
    str,
    typer.Argument(
        metavar="CODE", help="A code or a name: DVF101, batch-not-moved.", autocompletion=completing.rule_words
    ),
]


def rules(output_format: options.Format = OutputFormat.TEXT) -> int:
    """List the rules."""
    from devfix.operations.rules import list_rules

    return list_rules(output_format)


def rule(code: Code) -> int:
    """Explain one rule: what it does, why the code fails, before and after."""
    from devfix.operations.rules import explain

    return explain(code)
