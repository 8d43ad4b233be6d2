"""A command that runs to its end or one of its limits, in its own session, and leaves no process behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devfix.replay.confinement import Confined, Confinement, Reach
from devfix.replay.limits import Limits
from devfix.replay.outcomes import Output
from devfix.replay.streams import Stream

_POLL_SECONDS = 0.02
_KILL_ROUNDS = 100
_KILL_SECONDS = 10.0
_MARK = "DEVFIX_REPLAY"

Tick = Callable[[], None]
"""Called many times a second while a command runs."""


def nobody_watches() -> None:
    """A tick that does nothing."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, and for how many seconds.

    `mark` is put into the environment, and tells the processes of this run from all others. `scratch` is a folder on
    the disk that it writes to, and `output_limit` how much it may print, in bytes. `reach` is what it can touch where
    there is a `confinement`.
    """

    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    timeout: float
    mark: str
    scratch: Path
    output_limit: int | None = None
    confinement: Confinement | None = None
    reach: Reach | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """What was seen from outside. `code` is as `subprocess` gives it: negative for a signal. `limit` is in words.

    `trouble` says why the command was never started.
    """

    code: int
    seconds: float
    timed_out: bool
    limit: str | None
    peak_memory: int | None
    stdout: Output
    stderr: Output
    trouble: str | None = None


def run(command: Command, tick: Tick = nobody_watches) -> Ended:
    """Run `command`. Every process that it started is gone when this returns, or is left by an exception.

    Raises:
        OSError: it could not be started.
    """
    with _confined(command) as confined:
        try:
            process = subprocess.Popen(
                command.arguments if confined is None else confined.arguments,
                cwd=command.folder if confined is None else "/",
                env={**command.environment, _MARK: command.mark},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=() if confined is None else confined.descriptors,
                start_new_session=True,
            )
            if confined is not None:
                confined.started()
            return _observe(process, command, confined, tick)
        except BaseException:  # Ctrl-C may come while Popen still waits to be told that the command runs
            _kill_marked(command.mark)
            raise


@contextlib.contextmanager
def _confined(command: Command) -> Iterator[Confined | None]:
    if command.confinement is None:
        yield None
        return
    reach = command.reach or Reach(command.folder)
    with command.confinement.confine(command.arguments, reach) as confined:
        yield confined


def _observe(process: subprocess.Popen[bytes], command: Command, confined: Confined | None, tick: Tick) -> Ended:
    started = time.monotonic()
    streams = [Stream(pipe) for pipe in (process.stdout, process.stderr) if pipe is not None]
    limits = Limits(command.scratch, command.output_limit, streams, confined, command.reach)
    try:
        peak = None
        while peak is None and limits.passed is None and time.monotonic() < started + command.timeout:
            time.sleep(_POLL_SECONDS)
            tick()
            limits.look()
            peak = _reaped(process, os.WNOHANG)
        seconds = time.monotonic() - started
    finally:
        if confined is not None:
            confined.kill(_KILL_SECONDS)
        _kill_all(process.pid, command.mark)
        late_peak = _reaped(process, 0)
        stdout, stderr = (stream.finish() for stream in streams)
    timed_out = peak is None and limits.passed is None
    was_cut = timed_out or limits.passed is not None
    return Ended(
        _code(process.returncode, confined),
        seconds,
        timed_out,
        limits.passed,
        peak or late_peak,
        stdout,
        stderr,
        None if confined is None or was_cut else _trouble(process.returncode, confined, stderr, command),
    )


def _code(own: int, confined: Confined | None) -> int:
    """The exit status of the command, where that of the process that was started is `own`."""
    if confined is None:
        return own
    if confined.code is not None:
        return confined.code
    return own if own <= 128 else 128 - own


def _trouble(own: int, confined: Confined, stderr: Output, command: Command) -> str | None:
    """Why a confined command was never started, where it was not."""
    if own == 0 or confined.code is not None:
        return None
    last = stderr.tail.strip().rpartition("\n")[2]
    if last.startswith(f"bwrap: execvp {command.arguments[0]}: "):
        return f"{command.arguments[0]} could not be started: {last.rpartition(': ')[2]}"
    return f"the sandbox could not be made: {last}" if own == 1 else None


def _reaped(process: subprocess.Popen[bytes], options: int) -> int | None:
    """The peak memory in bytes of a process that has ended; None where it has not, or was reaped already.

    `wait4` in place of `Popen.wait`, for the memory of this child and no other.
    """
    if process.returncode is not None:
        return None
    pid, status, usage = os.wait4(process.pid, options)
    if not pid:
        return None
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _kill_all(group: int, mark: str) -> None:
    """End the process group, and what left it: such processes still carry our mark in their environment."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    _kill_marked(mark)


def _kill_marked(mark: str) -> None:
    """End the processes with our mark. Those that fork faster than they are found are looked for again, for a while."""
    for _ in range(_KILL_ROUNDS):
        found = list(_marked(mark))
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return


def _marked(mark: str) -> Iterator[int]:
    """The processes whose environment has the mark of this run, where the system has /proc."""
    wanted = f"{_MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
