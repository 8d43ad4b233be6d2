"""Runs programs one after another in this interpreter: `run.py a.py b.py`, one line of JSON for each on standard output.

A line holds the path, what the program printed, and, where it failed, the error and the innermost line of the program
itself. torch is imported once; each program gets fresh globals, its own folder first on the path, and its local
modules are forgotten afterwards.

`run.py --simulated PROBE CHECKS a.py b.py` runs each in a fork, on the simulated accelerator of the probe in the folder
PROBE with the device checks in the file CHECKS. A line then also holds the deprecations that the program brought about
and what is not simulated.
"""

import contextlib
import gc
import importlib
import io
import json
import multiprocessing
import os
import runpy
import sys
import traceback
import warnings
from pathlib import Path


def run(path: Path) -> dict:
    modules, search, arguments = set(sys.modules), list(sys.path), list(sys.argv)
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path)]
    printed, result = io.StringIO(), {"path": str(path), "error": None, "line": None}
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runpy.run_path(str(path), run_name="__main__")
    except SystemExit as error:
        if error.code:
            result["error"] = f"SystemExit: {error.code}"
    except BaseException as error:
        result["error"] = f"{type(error).__name__}: {error}"
        frames = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        result["line"] = frames[-1] if frames else getattr(error, "lineno", None)
    finally:
        sys.path[:], sys.argv = search, arguments
        for name in set(sys.modules) - modules:
            if getattr(sys.modules[name], "__file__", None) and Path(sys.modules[name].__file__).parent == path.parent:
                del sys.modules[name]
    return {**result, "output": printed.getvalue()}


class Simulated:
    """A simulated accelerator in this process from now on; each program runs in a fork of it."""

    def __init__(self, probe: Path, checks: Path) -> None:
        self.program = None
        for module in ("torch._dynamo", "torch.utils.data"):  # which optimizers and loaders import, once for all forks
            importlib.import_module(module)
        self.seen = {"deprecations": [], "not_simulated": [], "autocast": []}
        runpy.run_path(str(probe / "main.py"))["load_package"](probe)
        state = importlib.import_module("_devfix_probe.simulated.state")
        simulation = state.Simulation(devices=1, inside=self.is_program, report=self.seen["not_simulated"].append)
        importlib.import_module("_devfix_probe.simulated").install(simulation, json.loads(checks.read_text()))
        importlib.import_module("_devfix_probe.deprecations").observe(
            lambda file: file if self.is_program(file) else None,
            lambda category, message, file, line: self.seen["deprecations"].append([category, message, line]),
        )
        self.note_autocast()
        gc.collect()
        gc.freeze()  # what is here already is not looked through for garbage in each fork, and so not copied to it

    def is_program(self, file: str) -> bool:
        return file == self.program

    def note_autocast(self) -> None:
        """Note the lines of the program that make an autocast, each with what it gets as device type."""
        torch = importlib.import_module("torch")
        original = torch.autocast.__init__

        def init(autocast, device_type, *args, **kwargs):
            frame = sys._getframe(1)
            if self.is_program(frame.f_code.co_filename):
                self.seen["autocast"].append([frame.f_lineno, str(device_type)])
            original(autocast, device_type, *args, **kwargs)

        torch.autocast.__init__ = init

    def run(self, path: Path) -> None:
        sys.stdout.flush()
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            return
        self.program = str(path)
        print(json.dumps({**run(path), **self.seen}), flush=True)
        for worker in multiprocessing.active_children():  # one that starts late would not see that its parent is gone
            worker.kill()
        os._exit(0)


def main(arguments: list) -> None:
    simulated = None
    if arguments[:1] == ["--simulated"]:
        probe, checks, *arguments = arguments[1:]
        simulated = Simulated(Path(probe), Path(checks))
    for path in (Path(argument).resolve() for argument in arguments):
        if simulated is None:
            print(json.dumps(run(path)), flush=True)
        else:
            simulated.run(path)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    with contextlib.suppress(ImportError):
        import torch

        torch.set_num_threads(1)
    main(sys.argv[1:])
