"""Runs programs, each in a fork of a process that has imported torch, with or without the simulated accelerator.

    python zygote.py FOLDER [CHECKS]

reads orders `{"script": ..., "timeout": ...}` from standard input, one JSON object a line, and answers each with what
became of it: `error` is the last line of the traceback, "" for none, `file` and `line` where in the script's folder it
arose. FOLDER has all scripts below it. CHECKS is the table of device checks to simulate with.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import torch
from devfix.replay.probe.main import PACKAGE, load_package

_USED = ("numpy", "torch._dynamo", "torch.utils.data", "torch.nn.functional", "copy", "dataclasses")
"""What programs import, and the first optimizer does: here once, so that no fork has to."""


def main() -> None:
    folder, *checks = sys.argv[1:]
    sys.dont_write_bytecode = True
    torch.set_num_threads(1)
    for name in _USED:
        importlib.import_module(name)
    if checks:
        simulate(folder, Path(checks[0]))
    for line in sys.stdin:
        order = json.loads(line)
        print(json.dumps(run(Path(order["script"]), order["timeout"])), flush=True)


def simulate(folder: str, checks: Path) -> None:
    """Install the probe's simulation in this process, which has not used it when it forks."""
    load_package(Path(importlib.import_module("devfix.replay.probe").__file__ or "").parent)
    simulated = importlib.import_module(f"{PACKAGE}.simulated")
    state = importlib.import_module(f"{PACKAGE}.simulated.state")
    simulation = state.Simulation(inside=lambda file: file.startswith(folder))
    simulated.install(simulation, json.loads(checks.read_text(encoding="utf-8")))


def run(script: Path, timeout: float) -> dict[str, Any]:
    """What became of a script."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        _execute(script, sending)
    os.close(sending)
    status = _wait(child, timeout)
    with os.fdopen(receiving, encoding="utf-8") as told:
        text = told.read()
    return json.loads(text) if text else {"error": f"ended with status {status}", "file": None, "line": None}


def _wait(child: int, timeout: float) -> int:
    """The exit status of `child`, which is ended with its process group after `timeout` seconds."""
    end = time.monotonic() + timeout
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            end = float("inf")
        time.sleep(0.001)


def _execute(script: Path, sending: int) -> NoReturn:
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.chdir(script.parent)
    sys.argv[:] = [str(script)]
    sys.path.insert(0, str(script.parent))
    module = ModuleType("__main__")
    module.__file__ = str(script)
    sys.modules["__main__"] = module
    told: dict[str, Any] = {"error": "", "file": None, "line": None}
    try:
        exec(compile(script.read_bytes(), str(script), "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename).parent == script.parent]
        told["error"] = f"{type(error).__name__}: {error}".partition("\n")[0]
        told |= {"file": Path(own[-1].filename).name, "line": own[-1].lineno} if own else {}
    os.write(sending, json.dumps(told).encode())
    os._exit(0)


if __name__ == "__main__":
    main()
