"""Runs programs, each in a fork of a process that has imported torch, with or without the simulated accelerator.

    python zygote.py FOLDER [CHECKS]

reads orders `{"scripts": [...], "timeout": ...}` from standard input, one JSON object a line. The scripts of an order
run one after the other in one fork. Each order is answered with a list of what became of them: `error` is the last line
of the traceback, "" for none, `file` and `line` where in the script's folder it arose. FOLDER has all scripts below it.
CHECKS is the table of device checks to simulate with.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
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
    gc.disable()  # A collection would copy what forks share.
    for line in sys.stdin:
        order = json.loads(line)
        print(json.dumps(run([Path(script) for script in order["scripts"]], order["timeout"])), flush=True)


def simulate(folder: str, checks: Path) -> None:
    """Install the probe's simulation in this process, which has not used it when it forks."""
    load_package(Path(importlib.import_module("devfix.replay.probe").__file__ or "").parent)
    simulated = importlib.import_module(f"{PACKAGE}.simulated")
    state = importlib.import_module(f"{PACKAGE}.simulated.state")
    simulation = state.Simulation(inside=lambda file: file.startswith(folder))
    simulated.install(simulation, json.loads(checks.read_text(encoding="utf-8")))


def run(scripts: Sequence[Path], timeout: float) -> list[dict[str, Any]]:
    """What became of the scripts."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        _execute_all(scripts, sending)
    os.close(sending)
    status = _wait(child, timeout * len(scripts))
    with os.fdopen(receiving, encoding="utf-8") as pipe:
        told = [json.loads(line) for line in pipe]
    lost = {"error": f"ended with status {status}", "file": None, "line": None}
    return told + [lost] * (len(scripts) - len(told))


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


def _execute_all(scripts: Sequence[Path], sending: int) -> NoReturn:
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    known = set(sys.modules)
    for script in scripts:
        os.write(sending, json.dumps(_execute(script)).encode() + b"\n")
        for name in [name for name in sys.modules if name not in known and _stands_in(name, script.parent)]:
            del sys.modules[name]
    os._exit(0)


def _stands_in(module: str, folder: Path) -> bool:
    file = getattr(sys.modules[module], "__file__", None)
    return file is not None and Path(file).parent == folder


def _execute(script: Path) -> dict[str, Any]:
    os.chdir(script.parent)
    sys.argv[:] = [str(script)]
    sys.path[0] = str(script.parent)
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
    return told


if __name__ == "__main__":
    main()
