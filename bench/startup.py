"""What a check of one file costs that devfix has seen before, beside an interpreter that does nothing, and ruff.

The commands take turns, so that all see the same machine. The least CPU time of each is what it needs; wall time also
has what the machine was busy with. The ratio to the bare interpreter is the measure on a machine that has other work.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[1] / "corpus" / "seeds" / "timm_ema_v3" / "before.py"


@dataclass(frozen=True)
class Run:
    """What one process took, in seconds."""

    cpu: float
    wall: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(PROGRAM, Path(folder, "train.py"))
        os.environ["XDG_CACHE_HOME"] = folder
        commands = {"python -c pass": [sys.executable, "-c", "pass"]}
        commands["devfix check train.py"] = [sys.executable, "-m", "devfix", "check", "train.py"]
        if ruff := shutil.which("ruff"):
            commands["ruff check train.py"] = [ruff, "check", "train.py"]
        os.chdir(folder)
        for command in commands.values():
            run(command)  # so that all is compiled, and remembered
        runs = [{name: run(command) for name, command in commands.items()} for _ in range(rounds)]
    print(*lines({name: [each[name] for each in runs] for name in commands}), sep="\n")
    return 0


def run(command: list[str]) -> Run:
    """Run a command whose output nobody reads."""
    silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    begun = time.monotonic()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=silent)
    _, _, used = os.wait4(process, 0)
    return Run(used.ru_utime + used.ru_stime, time.monotonic() - begun)


def lines(runs: dict[str, list[Run]]) -> list[str]:
    """The table, in Markdown."""
    table = ["| command | CPU, ms | of the interpreter's | wall, ms |", "|---|---:|---:|---:|"]
    least = {name: min(one.cpu for one in found) for name, found in runs.items()}
    bare = next(iter(least.values()))
    for name, cpu in least.items():
        wall = min(one.wall for one in runs[name])
        table.append(f"| `{name}` | {cpu * 1000:.0f} | {cpu / bare:.1f} | {wall * 1000:.0f} |")
    return table


if __name__ == "__main__":
    sys.exit(main())
