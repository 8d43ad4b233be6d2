"""Runs probes one after another in this process, each from the same state, and says what each answered."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import pkgutil
import random
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
GROUPS = HERE / "groups"
sys.path.insert(0, str(HERE))

import torch  # noqa: E402
from expectations import PROBES, Probe  # noqa: E402

ALONE_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Answer:
    """`error` is the name of the exception's type, None where the call passed; `message` its first line."""

    error: str | None = None
    message: str | None = None

    def __str__(self) -> str:
        return "passes" if self.error is None else f"{self.error}: {self.message}"


def load() -> list[Probe]:
    """Every probe, by group. They are declared on import, which uses no device."""
    for module in sorted(pkgutil.iter_modules([str(GROUPS)]), key=lambda found: found.name):
        importlib.import_module(f"groups.{module.name}")
    return list(PROBES)


def agrees(probe: Probe, answer: Answer) -> bool:
    return (probe.error, probe.message) == (answer.error, answer.message)


def run(probes: Sequence[Probe]) -> dict[str, Answer]:
    """The answers by title. Those that want a process of their own are forked off before any device is used."""
    answers = {probe.title: _answer_of_fork(probe) for probe in probes if probe.alone}
    answers |= {probe.title: _answer(probe) for probe in probes if not probe.alone}
    return {probe.title: answers[probe.title] for probe in probes}


def _answer(probe: Probe) -> Answer:
    with _fresh():
        try:
            probe.call()
        except Exception as error:
            return Answer(type(error).__name__, next(iter(str(error).splitlines()), ""))
    return Answer()


def _answer_of_fork(probe: Probe) -> Answer:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(ALONE_SECONDS)
        os.close(reader)
        try:
            os.write(writer, json.dumps(asdict(_answer(probe))).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:  # noqa: PTH123 - a descriptor
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return Answer(**json.loads(said)) if said else Answer("no answer", f"wait status {status}")


@contextlib.contextmanager
def _fresh() -> Iterator[None]:
    """The state that a new process has: seeds, default device and type, current device, settings; nothing printed."""
    random.seed(0)
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
        if torch.cuda.is_initialized():
            torch.cuda.set_device(0)
