"""How to replay: the choices that a user has."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from devfix.replay.confinement import Allowance, Confinement
from devfix.replay.programs import Program
from devfix.replay.workspace import Limits

MEMORY_SHARE = 0.8
OUTPUT_LIMIT = 64 << 20
FILE_LIMIT = 8 << 30


def default_python() -> str:
    """The interpreter of the virtual environment that is active, else the one that runs devfix."""
    environment = os.environ.get("VIRTUAL_ENV")
    if environment:
        python = Path(environment, "bin", "python")
        if python.exists():
            return from_any_folder(str(python))
    return sys.executable


def from_any_folder(python: str) -> str:
    """The interpreter that `python` means in this folder, as it is called in others: what is no path is looked up."""
    return str(Path(python).absolute()) if os.sep in python else python


def most_memory() -> int:
    """Most of what the machine has, in bytes."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY_SHARE)


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How to replay.

    `on` is one of `CHOICES`, with so many `devices` where they are simulated. `timeout`, in seconds, holds for each
    run, and so do the limits in bytes: `memory` of a process (None for most of what the machine has), `output_limit` of
    what is printed, `file_limit` of each file. `steps` ends training after so many steps of an optimizer.
    `program` is what to run in place of the changed scripts; without one `args` follow each script. `suite` are the
    arguments of pytest where the tests of each tree are run in the place of programs. `env` is added to
    the environment. `cwd` is a folder of the original tree. `keep` leaves the copies of the tree, one for each run.
    `audit` records what is where, and what is moved. `parallel_runs` go on at a time: None for as
    many as there are processors, and one where copies are kept. With a `confinement` nothing but the copy can be
    written to, and what the processes of a run use together is bounded by the `allowance`, where no memory means
    `memory`. With `harness` functions that nothing runs are called by a driver of devfix's own.
    """

    on: str = "auto"
    timeout: float = 300.0
    python: str = field(default_factory=default_python)
    args: tuple[str, ...] = ()
    memory: int | None = None
    seed: int = 0
    keep: bool = False
    limits: Limits = field(default_factory=Limits)
    devices: int = 1
    steps: int | None = None
    program: Program | None = None
    env: tuple[tuple[str, str], ...] = ()
    cwd: Path | None = None
    output_limit: int = OUTPUT_LIMIT
    file_limit: int = FILE_LIMIT
    audit: bool = False
    confinement: Confinement | None = None
    parallel_runs: int | None = None
    suite: tuple[str, ...] | None = None
    harness: bool = True
    allowance: Allowance = field(default_factory=Allowance)
