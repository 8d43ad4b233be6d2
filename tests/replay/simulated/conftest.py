"""Runs snippets under the simulated accelerator, each in a process of its own so that torch stays as it is here."""

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from devfix.replay.device_checks import table_file

_ZYGOTE = Path(__file__).parent / "zygote.py"


@dataclass(frozen=True)
class Result:
    """What became of a snippet.

    `error_type` and `message` are those of the exception that ended it (both "" where none did) and `line` the line of
    the snippet, from 1, where it arose. `printed` is what it wrote to standard output and error, `values` what it kept
    with `keep(name, value)` (JSON values). `not_simulated` and `notes` are what the simulation told its journal.
    `status` is the exit status, -N where signal N ended the process. `postmortem` is what the probe says of a crash.
    """

    error_type: str
    message: str
    line: int | None
    printed: str
    values: dict[str, Any]
    not_simulated: list[str]
    notes: list[str]
    status: int
    postmortem: dict[str, Any] | None = None

    @property
    def first_line(self) -> str:
        """The first line of the message, "" where nothing was raised."""
        return self.message.partition("\n")[0]


Simulate = Callable[..., Result]


class _Zygote:
    """A process that has imported torch and forks for each snippet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)
        self._checks = str(_checks_file())
        self._process = subprocess.Popen(
            [sys.executable, str(_ZYGOTE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, code: str, devices: int, timeout: float) -> Result:
        folder = self._folder / f"snippet{next(self._numbers)}"
        folder.mkdir()
        script = folder / "script.py"
        script.write_text(dedent(code).lstrip("\n"), encoding="utf-8")
        order = {"script": str(script), "devices": devices, "checks": self._checks, "timeout": timeout}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process that forks for snippets died"
        return Result(**json.loads(answer))

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(120)


def _checks_file() -> Path:
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    return table_file(Path(spec.origin).parent, importlib.metadata.version("torch"))


@pytest.fixture(scope="session")
def _zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Zygote]:
    zygote = _Zygote(tmp_path_factory.mktemp("snippets"))
    yield zygote
    zygote.close()


@pytest.fixture
def simulate(_zygote: _Zygote) -> Simulate:
    """`simulate(code, devices=1, timeout=120) -> Result`: run a snippet under a simulation with so many devices.

    `torch` is imported anew by the snippet's own `import torch`; `keep(name, value)` is there to hand values back. Its
    leading empty lines are dropped, so that line 1 is its first line of code. It is the only file of the user's tree.
    """

    def run(code: str, devices: int = 1, timeout: float = 120) -> Result:
        return _zygote.run(code, devices, timeout)

    return run
