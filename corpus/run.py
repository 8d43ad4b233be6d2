"""Runs programs one after another in this interpreter: `run.py a.py b.py`, one line of JSON for each on standard output.

A line holds the path, what the program printed, and, where it failed, the error and the innermost line of the program
itself. torch is imported once; each program gets fresh globals, its own folder first on the path, and its local
modules are forgotten afterwards.
"""

import contextlib
import io
import json
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


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    with contextlib.suppress(ImportError):
        import torch

        torch.set_num_threads(1)
    for argument in sys.argv[1:]:
        print(json.dumps(run(Path(argument).resolve())), flush=True)
