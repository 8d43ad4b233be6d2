"""Asking an interpreter what it has: a small script is run in it, which prints one line of JSON last."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devfix.replay.confinement import Confinement, Reach
from devfix.replay.processes import Command, run

SECONDS = 120
"""How long importing torch may take."""
_OUTPUT = 1 << 20


class AskError(Exception):
    """The interpreter could not be started, or did not answer; the message says why."""


def ask(
    python: str, script: Path, variables: Mapping[str, str], confinement: Confinement | None = None
) -> dict[str, Any]:
    """The facts that `script` prints when `python` runs it with `variables` added to the environment.

    Raises:
        AskError: there is no answer.
    """
    ours = os.environ if confinement is None else confinement.environment()
    with tempfile.TemporaryDirectory(prefix="devfix-ask-") as folder:
        scratch = Path(folder).resolve()
        here = Path.cwd() if confinement is None else scratch
        command = Command(
            (python, str(script)),
            here,
            {**ours, **variables},
            SECONDS,
            str(scratch),
            scratch,
            _OUTPUT,
            confinement,
            Reach(here, (scratch,), (script.parent,), devices=True),
        )
        try:
            ended = run(command)
        except OSError as error:
            raise AskError(f"{python} could not be started: {error.strerror}") from error
    if ended.trouble is not None:
        raise AskError(ended.trouble)
    if ended.timed_out:
        raise AskError(f"{python} did not say within {SECONDS} s what it has")
    answer = _parsed(ended.stdout.tail)
    if answer is None:
        raise AskError(f"{python} did not say what it has: {ended.stderr.tail.strip().rpartition(chr(10))[2]}")
    return answer


def _parsed(text: str) -> dict[str, Any] | None:
    """The object in the last line."""
    try:
        answer = json.loads(text.strip().rpartition("\n")[2])
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None
