"""Programs that the script starts with `subprocess`: interpreters of their own, in which nothing is simulated."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .mode import ClaimMode
from .patching import wrap
from .state import Simulation

LAUNCHERS = ("accelerate", "deepspeed", "torchrun")


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Have a note say so: what such a program computes is no evidence about devices."""

    def start(original: Callable[..., Any], process: Any, args: Any, *rest: Any, **options: Any) -> Any:
        name = _program(args)
        if name.startswith("python") or name in LAUNCHERS:
            simulation.note(f"{name}: a program of its own, which sees no accelerator")
        return original(process, args, *rest, **options)

    wrap(subprocess.Popen, "__init__", start)


def _program(args: Any) -> str:
    """The name of the program that a command starts, whatever form the command has; "" where it cannot be told."""
    try:
        words = shlex.split(os.fsdecode(args)) if isinstance(args, (str, bytes, os.PathLike)) else list(args)
        return Path(os.fsdecode(words[0])).name
    except (IndexError, TypeError, ValueError):
        return ""
