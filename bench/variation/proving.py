"""Runs programs on the simulated accelerator and on the plain CPU, and says whether they behave as promised."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from variation.writing import Program

_ZYGOTE = Path(__file__).with_name("zygote.py")
_SECONDS = 20
_DEVICE_ERROR = re.compile(r"\bdevices?\b|cuda|should be the same", re.IGNORECASE)


@dataclass(frozen=True)
class Outcome:
    """What became of a program: `error` is "" where it passed. `file` and `line` are where it failed."""

    error: str
    file: str | None
    line: int | None

    @property
    def is_device_error(self) -> bool:
        """Whether it failed because of places."""
        return bool(_DEVICE_ERROR.search(self.error)) and "not simulated" not in self.error


class Machine:
    """A process that forks for each program below a folder, on a simulated accelerator or on the plain CPU."""

    def __init__(self, folder: Path, simulated: bool) -> None:
        checks = [str(_checks_file())] if simulated else []
        self._process = subprocess.Popen(
            [sys.executable, str(_ZYGOTE), str(folder), *checks],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:  # a machine with other work: everything is measured by now
            self._process.kill()
            self._process.wait()

    def run(self, *scripts: Path) -> list[Outcome]:
        """What becomes of scripts that run one after the other."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {"scripts": [str(script) for script in scripts], "timeout": _SECONDS}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("the process that forks for programs died")
        return [Outcome(**told) for told in json.loads(answer)]


def lay(folder: Path, files: dict[str, str]) -> Path:
    """Write a program into a new folder, which is a project of its own; its script."""
    (folder / ".git").mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "main.py"


def broken_promise(program: Program, wrong: Path, right: Path, simulated: Machine, plain: Machine) -> str | Outcome:
    """How the wrong program fails; or in words how the pair at these paths does not behave as it should."""
    if program.wrong == program.right:
        return "the twins are the same"
    twin, failed = simulated.run(right, wrong)
    if twin.error:
        return f"the correct twin fails: {twin.error}"
    if not failed.error:
        return "the wrong program passes"
    if not failed.is_device_error or failed.line is None:
        return f"the wrong program fails otherwise: {failed.error}"
    if program.shape.is_portable:
        for what, outcome in zip(("correct twin", "wrong program"), plain.run(right, wrong)):
            if outcome.error:
                return f"the {what} fails on the plain CPU: {outcome.error}"
    return failed


def _checks_file() -> Path:
    from devfix.replay.device_checks import table_file

    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise RuntimeError("torch is needed to run the programs")
    return table_file(Path(spec.origin).parent, importlib.metadata.version("torch"))
