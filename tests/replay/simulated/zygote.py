"""Reads orders from standard input, one JSON object a line, and answers each with what became of its snippet.

It imports torch once and forks for each snippet, which installs the simulation and runs as `__main__`.
"""

import contextlib
import gc
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

_PROBE = Path(importlib.import_module("devfix.replay.probe").__file__ or "").parent
_IMPORTED = ("torch._dynamo", "torch.utils.data")
"""What the first optimizer and the first loader import, which takes longer than most snippets."""


def main() -> None:
    torch.set_num_threads(1)
    for module in _IMPORTED:
        importlib.import_module(module)
    load_package(_PROBE)
    simulated = importlib.import_module(f"{PACKAGE}.simulated")
    state = importlib.import_module(f"{PACKAGE}.simulated.state")
    gc.collect()
    gc.freeze()  # what no fork writes to, all of them share
    for line in sys.stdin:
        order = json.loads(line)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _run(order, simulated, state)
        status = _wait(child, order["timeout"])
        print(json.dumps({**_outcome(order), "status": status}), flush=True)


def _wait(child: int, timeout: float) -> int:
    """The exit status of `child`, which is ended with all of its process group after `timeout` seconds."""
    end = time.monotonic() + timeout
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            end = float("inf")
        time.sleep(0.002)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status)


def _outcome(order: dict[str, Any]) -> dict[str, Any]:
    folder = Path(order["script"]).parent
    try:
        told = json.loads((folder / "outcome.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        told = {"error_type": "", "message": "", "line": None, "values": {}, "not_simulated": [], "notes": []}
    printed = (folder / "printed").read_text(encoding="utf-8", errors="replace")
    return {**told, "printed": printed}


def _run(order: dict[str, Any], simulated: ModuleType, state: ModuleType) -> NoReturn:
    os.setsid()
    script = Path(order["script"])
    _redirect(script.parent / "printed")
    os.chdir(script.parent)
    sys.argv[:] = [str(script)]
    sys.path.insert(0, str(script.parent))
    told: dict[str, Any] = {
        "error_type": "",
        "message": "",
        "line": None,
        "values": {},
        "not_simulated": [],
        "notes": [],
    }
    simulation = state.Simulation(
        devices=order["devices"],
        inside=lambda file: file == str(script),
        report=told["not_simulated"].append,
        note=told["notes"].append,
    )
    simulated.install(simulation, json.loads(Path(order["checks"]).read_text(encoding="utf-8")))
    parent = os.getpid()
    status = _execute(script, told)
    if os.getpid() == parent:
        (script.parent / "outcome.json").write_text(json.dumps(told), encoding="utf-8")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _execute(script: Path, told: dict[str, Any]) -> int:
    module = ModuleType("__main__")
    module.__file__ = str(script)
    module.__dict__["keep"] = told["values"].__setitem__
    sys.modules["__main__"] = module
    try:
        exec(compile(script.read_bytes(), str(script), "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        told["error_type"], told["message"] = type(error).__name__, str(error)
        told["line"] = _line(error, script)
        told["postmortem"] = importlib.import_module(f"{PACKAGE}.postmortem").examine(error, script.parent)
        traceback.print_exc()
        return 1
    return 0


def _line(error: BaseException, script: Path) -> "int | None":
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(script)]
    return lines[-1] if lines else None


def _redirect(file: Path) -> None:
    """Send standard output and error there; the answers' pipe is not for snippets."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)


if __name__ == "__main__":
    main()
