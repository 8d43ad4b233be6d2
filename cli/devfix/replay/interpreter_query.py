"""Queries to an interpreter about what it has: it runs a small script, whose last line of output is JSON."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devfix.replay.confinement import Confinement, Reach
from devfix.replay.environments import inherited
from devfix.replay.forkserver import MAIN, Gone
from devfix.replay.leftovers import Folder
from devfix.replay.processes import Command, Ended, run
from devfix.replay.warm import fork_for

SECONDS = 120
"""How long importing torch may take."""
_OUTPUT = 1 << 20


class QueryError(Exception):
    """The interpreter could not be started, or did not answer; the message says why."""


def query_interpreter(
    python: str, script: Path, variables: Mapping[str, str], confinement: Confinement | None = None, seed: int = 0
) -> dict[str, Any]:
    """The facts that `script` prints when `python` runs it, in the environment of a replay.

    Raises:
        QueryError: there is no answer.
    """
    folder = Folder("devfix-query-")
    try:
        scratch = folder.path
        here = Path.cwd() if confinement is None else scratch
        command = Command(
            (python, str(MAIN), "--alone", str(script)),
            here,
            {**inherited(python, variables, seed, confinement), "TMPDIR": str(scratch)},
            SECONDS,
            str(scratch),
            scratch,
            _OUTPUT,
            confinement,
            Reach(here, (scratch,), (script.parent,), devices=True),
        )
        ended = _run(command)
    finally:
        folder.remove()
    if ended.trouble is not None:
        raise QueryError(ended.trouble)
    if ended.timed_out:
        raise QueryError(f"{python} did not say within {SECONDS} s what it has")
    answer = _parsed(ended.stdout.tail)
    if answer is None:
        raise QueryError(f"{python} did not say what it has: {ended.stderr.tail.strip().rpartition(chr(10))[2]}")
    return answer


def _run(command: Command) -> Ended:
    """In a fork of a process that is kept for runs, which are likely to follow, or else in a process of its own."""
    with contextlib.suppress(Gone):
        ended = run(command, start=fork_for(command))
        if _parsed(ended.stdout.tail) is not None:
            return ended
    try:
        return run(command)
    except OSError as error:
        raise QueryError(f"{command.arguments[0]} could not be started: {error.strerror}") from error


def _parsed(text: str) -> dict[str, Any] | None:
    """The object in the last line."""
    try:
        answer = json.loads(text.strip().rpartition("\n")[2])
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None
