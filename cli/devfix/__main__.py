"""The entry point: `devfix`, or `python -m devfix`."""

import atexit
import gc
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer

from devfix.app import application
from devfix.errors import UsageError

WRONG_USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 1  # as typer answers it
_CommandLineError: Any = typer.BadParameter.__mro__[2]
"""`ClickException`. Some releases of typer carry their own copy of click, so it has no one name to import it by."""

atexit.register(gc.freeze)  # or the interpreter looks for garbage again and again at its end, a quarter of a short run


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and answer its exit code."""
    _show_anything()
    gc.set_threshold(50_000)  # thousands of small records live to the end of a run: nothing to collect among them
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except UsageError as error:
        return _refuse(str(error), error.details)
    except (KeyboardInterrupt, typer.Abort):
        print("devfix: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_output()
        return BROKEN_PIPE


def _run(arguments: list[str]) -> int:
    """The application, with errors of usage as one line where click would print three."""
    try:
        code = application(arguments)(arguments or ["--help"], prog_name="devfix", standalone_mode=False)
    except _CommandLineError as error:
        return _refuse(f"{error.format_message().rstrip('.')} (`devfix --help` shows the usage)")
    if code == INTERRUPTED:  # some releases of typer answer this where others raise
        raise KeyboardInterrupt
    sys.stdout.flush()
    return code if arguments else WRONG_USAGE


def _refuse(message: str, details: Sequence[str] = ()) -> int:
    print(f"devfix: error: {message}", *(f"  {detail}" for detail in details), sep="\n", file=sys.stderr)
    return WRONG_USAGE


def _show_anything() -> None:
    """File names and code may hold what the stream's encoding lacks: then as escapes rather than not at all."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _abandon_output() -> None:
    """The reader has gone: the interpreter must not fail at exit over what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
