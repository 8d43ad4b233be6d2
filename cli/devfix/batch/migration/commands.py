"""The project's own commands: what sets it up, and its checks.

They are typed at a shell, in a copy of the tree, and confined like a replay.
"""

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from devfix.replay.confinement import Allowance, Confinement, Reach
from devfix.replay.environments import OF_A_REPOSITORY
from devfix.replay.options import FILE_LIMIT, OUTPUT_LIMIT, most_memory
from devfix.replay.outcomes import Output
from devfix.replay.processes import Command, Ended, Tick, nobody_watches, run

_SHELL = "/bin/sh"
_DEFAULT_ENVIRONMENT = {"PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "MPLBACKEND": "Agg"}


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """The limits of a command: `timeout` in seconds, the others in bytes.

    `memory` holds for each process (None for most of what the machine has), `file` for each file, and `output` for all
    that is printed. `allowance` is for all processes of a confined command together.
    """

    timeout: float = 3600.0
    memory: int | None = None
    file: int = FILE_LIMIT
    output: int = OUTPUT_LIMIT
    allowance: Allowance = field(default_factory=Allowance)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended. `code` is its exit status, None where it was ended; `ending` says it in words."""

    code: int | None
    ending: str
    seconds: float
    stdout: Output = field(default_factory=Output)
    stderr: Output = field(default_factory=Output)

    @property
    def passed(self) -> bool:
        return self.code == 0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a command runs.

    `folder` is where it is typed. A confined command can write to `writable`, and to `temporary` for temporary files,
    and read `readable`. `environment` is added to what it inherits, and a virtual environment in the folder `venv` is
    active. `devices` opens the accelerators.
    """

    folder: Path
    writable: tuple[Path, ...]
    temporary: Path
    readable: tuple[Path, ...] = ()
    environment: Mapping[str, str] | None = None
    venv: Path | None = None
    devices: bool = False


def run_command(
    command: str,
    surroundings: Surroundings,
    limits: CommandLimits,
    confinement: Confinement | None,
    tick: Tick = nobody_watches,
) -> CommandResult:
    """Run a line of shell. Never raises for anything that it does; nothing that it started is left.

    Without a confinement nothing but the limits for each process, the time and the output hold it.
    """
    try:
        ended = run(_command(command, surroundings, limits, confinement), tick)
    except OSError as error:
        return CommandResult(None, f"{_SHELL} could not be started: {error.strerror}", 0.0)
    return _result(ended, limits)


def _command(command: str, where: Surroundings, limits: CommandLimits, confinement: Confinement | None) -> Command:
    memory = limits.memory or most_memory()
    allowance = limits.allowance
    reach = Reach(
        where.folder,
        (*where.writable, where.temporary),
        where.readable,
        where.devices,
        replace(allowance, memory=allowance.memory or memory),
    )
    return Command(
        (
            _SHELL,
            "-c",
            f'{_limited(None if where.devices else memory, limits.file)}; exec {_SHELL} -c "$1"',
            _SHELL,
            command,
        ),
        where.folder,
        _environment(where, allowance.network, confinement),
        limits.timeout,
        str(where.temporary),
        where.temporary,
        limits.output,
        confinement,
        reach,
    )


def _limited(memory: int | None, file: int) -> str:
    """Limits of the kernel, in units of 512 bytes for files, and KiB for data.

    Drivers of accelerators reserve far more memory than they use, so that there is none on data then.
    """
    data = "" if memory is None else f"; ulimit -d {memory // 1024}"
    return f"ulimit -c 0; ulimit -f {file // 512}{data}"


def _environment(where: Surroundings, network: bool, confinement: Confinement | None) -> dict[str, str]:
    ours = dict(os.environ) if confinement is None else confinement.environment(network)
    for name in OF_A_REPOSITORY:
        ours.pop(name, None)
    if where.venv is not None:
        ours.pop("PYTHONHOME", None)  # that of another interpreter, as for `activate`
        ours["VIRTUAL_ENV"] = str(where.venv)
        ours["PATH"] = f"{where.venv / 'bin'}{os.pathsep}{ours.get('PATH', os.defpath)}"
    return {**_DEFAULT_ENVIRONMENT, **ours, "TMPDIR": str(where.temporary), **(where.environment or {})}


def _result(ended: Ended, limits: CommandLimits) -> CommandResult:
    def told(code: int | None, ending: str) -> CommandResult:
        return CommandResult(code, ending, ended.seconds, ended.stdout, ended.stderr)

    if ended.trouble is not None:
        return told(None, ended.trouble)
    if ended.limit is not None:
        return told(None, f"went over a limit: {ended.limit}")
    if ended.timed_out:
        return told(None, f"was not done after {limits.timeout:g} s")
    # A shell and a sandbox tell the signal that ended their command by 128 and its number.
    code = ended.code if ended.code >= 0 else 128 - ended.code
    if code == 0:
        return told(0, "passed")
    return told(code, f"exit status {code}{_signal(code - 128)}")


def _signal(number: int) -> str:
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""
