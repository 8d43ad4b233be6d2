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
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        shutil.copy(PROGRAM, Path(folder, "train.py"))
        os.environ["XDG_CACHE_HOME"] = cache
        commands = {"python -c pass": [sys.executable, "-c", "pass"]}
        for tool in ("devfix", "ruff"):
            if found := shutil.which(tool, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"):
                commands[f"{tool} check train.py"] = [found, "check", "train.py"]
        os.chdir(folder)
        for command in commands.values():
            run(command)  # so that all is compiled, and remembered
        runs = [{name: run(command) for name, command in commands.items()} for _ in range(rounds)]
    print(*lines({name: [each[name] for each in runs] for name in commands}), sep="\n")
    return 0


def run(command: list[str]) -> Run:
    """Run a command whose output nobody reads.

    :raises RuntimeError: where it does not end as a check does that worked
    """
    silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    begun = time.monotonic()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=silent)
    _, status, used = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise RuntimeError(f"{' '.join(command)}: ended with {os.waitstatus_to_exitcode(status)}")
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
