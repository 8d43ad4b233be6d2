"""A command that runs to its end or one of its limits, in its own session, and leaves no process behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from devfix.replay.confinement import Confined, Confinement, Reach
from devfix.replay.leftovers import to_undo, undone
from devfix.replay.limits import Limits
from devfix.replay.outcomes import Output
from devfix.replay.streams import Stream

_POLL_SECONDS = 0.02
_KILL_ROUNDS = 100
_KILL_SECONDS = 10.0
MARK = "DEVFIX_REPLAY"
"""The variable that tells the processes of a run from all others."""

Tick = Callable[[], None]
"""Called many times a second while a command runs."""


def nobody_watches() -> None:
    """A tick that does nothing."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, and for how many seconds.

    `mark` is put into the environment. `scratch` is a folder on the disk that it writes to, and `output_limit` how much
    it may print, in bytes. `reach` is what it can touch where there is a `confinement`.
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

    `processor_seconds` are those of all processes that were waited for. `trouble` says why the command was never
    started.
    """

    code: int
    seconds: float
    timed_out: bool
    limit: str | None
    peak_memory: int | None
    processor_seconds: float
    stdout: Output
    stderr: Output
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class End:
    """How a command ended: `code` as in `Ended`, and `own` that of the process that we started for it."""

    code: int
    peak_memory: int | None
    processor_seconds: float
    own: int = 0


class Started(Protocol):
    """A command that was started: the `pipes` of its output and error, and what it is confined by, if anything."""

    @property
    def pipes(self) -> Sequence[IO[bytes]]: ...

    @property
    def confined(self) -> Confined | None: ...

    def wait(self, seconds: float) -> bool:
        """Wait for its end, so long at most; whether it has ended."""

    def end(self) -> End:
        """End it, if it has not, and every process that it started."""


Start = Callable[[Command, Tick], AbstractContextManager[Started]]


def run(command: Command, tick: Tick = nobody_watches, start: Start | None = None) -> Ended:
    """Run `command`. Every process that it started is gone when this returns, or is left by an exception.

    `start` is how it is started: in an interpreter of its own, unless something else is said.

    Raises:
        OSError: it could not be started.
    """
    with (start or _started)(command, tick) as process:
        return _observe(process, command, tick)


def _observe(process: Started, command: Command, tick: Tick) -> Ended:
    started = time.monotonic()
    streams = [Stream(pipe) for pipe in process.pipes]
    limits = Limits(command.scratch, command.output_limit, streams, process.confined, command.reach)
    try:
        has_ended = False
        while not has_ended and limits.passed is None and time.monotonic() < started + command.timeout:
            has_ended = process.wait(_POLL_SECONDS)
            tick()
            limits.look()
        seconds = time.monotonic() - started
    finally:
        end = process.end()
        stdout, stderr = (stream.finish() for stream in streams)
    was_cut = not has_ended or limits.passed is not None
    return Ended(
        end.code,
        seconds,
        not has_ended and limits.passed is None,
        limits.passed,
        end.peak_memory,
        end.processor_seconds,
        stdout,
        stderr,
        None if was_cut or process.confined is None else _trouble(end.own, process.confined, stderr, command),
    )


@contextlib.contextmanager
def _started(command: Command, _tick: Tick) -> Iterator[Started]:
    """The command in a process of its own."""
    key = to_undo(lambda: kill_marked(command.mark))
    with _confined(command) as confined:
        try:
            process = subprocess.Popen(
                command.arguments if confined is None else confined.arguments,
                cwd=command.folder if confined is None else "/",
                env={**command.environment, MARK: command.mark},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=() if confined is None else confined.descriptors,
                start_new_session=True,
            )
            if confined is not None:
                confined.started()
            yield _Process(process, command.mark, confined)
        except BaseException:  # Ctrl-C may come while Popen still waits to be told that the command runs
            kill_marked(command.mark)
            undone(key)
            raise
    undone(key)


@contextlib.contextmanager
def _confined(command: Command) -> Iterator[Confined | None]:
    if command.confinement is None:
        yield None
        return
    reach = command.reach or Reach(command.folder)
    with command.confinement.confine(command.arguments, reach) as confined:
        yield confined


class _Process:
    """A process that we started. It is in a session of its own."""

    def __init__(self, process: subprocess.Popen[bytes], mark: str, confined: Confined | None) -> None:
        self.confined = confined
        self._process = process
        self._mark = mark
        self._peak: int | None = None
        self._seconds = 0.0

    @property
    def pipes(self) -> Sequence[IO[bytes]]:
        return [pipe for pipe in (self._process.stdout, self._process.stderr) if pipe is not None]

    def wait(self, seconds: float) -> bool:
        time.sleep(seconds)
        return self._reaped(os.WNOHANG)

    def end(self) -> End:
        if self.confined is not None:
            self.confined.kill(_KILL_SECONDS)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        kill_marked(self._mark)
        self._reaped(0)
        own = self._process.returncode
        return End(_code(own, self.confined), self._peak, self._seconds, own)

    def _reaped(self, options: int) -> bool:
        """Whether it has ended. `wait4` in place of `Popen.wait`, for the memory of this child and no other."""
        if self._process.returncode is None:
            pid, status, usage = os.wait4(self._process.pid, options)
            if not pid:
                return False
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self._seconds = usage.ru_utime + usage.ru_stime
            self._peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return True


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


def signal_name(number: int) -> str:
    """`SIGSEGV`; `SIGRTMIN+6` of those of real time, which Python has no names for."""
    first = getattr(signal, "SIGRTMIN", number + 1)
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number) if number < first else f"SIGRTMIN+{number - first}"


def kill_marked(mark: str) -> None:
    """End the processes with this mark. Those that fork faster than they are found are looked for again, for a while.

    This goes by the environment that a program was started with, where the system has /proc.
    """
    for _ in range(_KILL_ROUNDS):
        found = list(_marked(mark))
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return


def _marked(mark: str) -> Iterator[int]:
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
