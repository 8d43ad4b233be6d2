"""Asking an interpreter what it has: a small script is run in it, which prints one line of JSON last."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SECONDS = 120
"""How long importing torch may take."""


class AskError(Exception):
    """The interpreter could not be started, or did not answer; the message says why."""


def ask(python: str, script: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    """The facts that `script` prints when `python` runs it with `variables` added to the environment.

    Raises:
        AskError: there is no answer.
    """
    try:
        done = subprocess.run(
            [python, str(script)],
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    except OSError as error:
        raise AskError(f"{python} could not be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise AskError(f"{python} did not say within {SECONDS} s what it has") from error
    except ValueError as error:
        last = done.stderr.strip().rpartition("\n")[2]
        raise AskError(f"{python} did not say what it has: {last}") from error
    return answer
