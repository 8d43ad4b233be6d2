"""`devfix completion`."""

from enum import StrEnum
from typing import Annotated

import typer

COMPLETION = "_DEVFIX_COMPLETE"
"""The variable by which a shell asks for words to offer."""


class Shell(StrEnum):
    """The shells that can be taught."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


Which = Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")]


def completion(shell: Which) -> int:
    """Print what teaches a shell to complete devfix: `eval "$(devfix completion bash)"`."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    typer.echo(get_completion_script(prog_name="devfix", complete_var=COMPLETION, shell=shell.value))
    return 0
