"""The process that migrates one repository: `python -m devfix.batch.migration.worker`, told its job in a line of JSON.

It is three processes. The one that was started only waits for the second, the guard, and ends as that does. The guard
forks the third, the one that works, and waits: for that one's end, for the end of standard input, which says that
whoever gave the job is gone, or for the end of the first. Then it ends what is left. Orphans are handed to it, so that
not even a daemon outlives it. It is not the first itself because that may be killed: Ray kills the children of a task.

The outcome, as JSON, is all that standard output ever gets: for everybody but us it leads to standard error.
"""

import argparse
import ctypes
import os
import resource
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from devfix.batch.records import Job, Outcome

MIGRATE = "devfix.batch.migration.migrate:migrate"
GRACE = 3.0
"""Seconds between being asked to end and being killed."""
INTERRUPTED = 130
WRONG_USAGE = 2
_NICENESS = 5
_SWEEP_SECONDS = 10.0
_SWEEP_PAUSE = 0.01
_CHUNK = 64 << 10
_ASKED_TO_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# include/uapi/linux/prctl.h
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do the job that standard input tells, and return the exit code."""
    options = _options(arguments)
    answer = os.dup(1)
    os.dup2(2, 1)
    guard = os.fork()
    if guard:
        for descriptor in (0, answer):
            os.close(descriptor)
        _wait_for(guard)
    watch = _Guard(options.grace)
    line = _line()
    if not line:
        return WRONG_USAGE
    worker = os.fork()
    if worker == 0:
        watch.forget()
        return _work(line, answer, options.function)
    os.close(answer)
    return _end_like(watch.until_the_end_of(worker))


def environment(job: "Job") -> dict[str, str]:
    """What a job adds to the environment: its accelerator, and how many threads, where the user says nothing else."""
    threads = {name: str(job.cores) for name in _THREADS if name not in os.environ}
    return {**threads, **dict(job.environment)}


def function_named(name: str) -> "Callable[[Job], Outcome]":
    """The function that `module:name` stands for."""
    from importlib import import_module

    module, _, function = name.partition(":")
    found: Callable[[Job], Outcome] = getattr(import_module(module), function)
    return found


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="devfix.batch.migration.worker", description=__doc__)
    parser.add_argument("--function", default=MIGRATE, help="what is called with the job, as module:name")
    parser.add_argument("--grace", type=float, default=GRACE, help="seconds to end by itself when asked to")
    return parser.parse_args(arguments)


def _line() -> bytes:
    """The first line of standard input, or nothing where it has no whole line."""
    line = b""
    while not line.endswith(b"\n"):
        chunk = os.read(0, _CHUNK)
        if not chunk:
            return b""
        line += chunk
    return line


def _work(line: bytes, answer: int, function: str) -> int:
    """The process that works. It ends with the guard, however that ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.nice(_NICENESS)
    import msgspec

    from devfix.batch.records import Job

    job = msgspec.json.decode(line, type=Job)
    os.environ.update(environment(job))
    try:
        outcome = function_named(function)(job)
    except KeyboardInterrupt:
        return INTERRUPTED
    with open(answer, "wb") as stream:
        stream.write(msgspec.json.encode(outcome))
    return 0


def _wait_for(guard: int) -> NoReturn:
    """Do nothing but pass on that we are to end."""

    def pass_on(number: int, frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(guard, signal.SIGTERM)

    for number in _ASKED_TO_END:
        signal.signal(number, pass_on)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    _end_like(os.waitpid(guard, 0)[1])


class _Guard:
    """Ends everything that comes of the one that works, as soon as that one ends, or is no longer wanted.

    Made before the fork, so that no signal is lost; `forget` is for the one that works.
    """

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._asked = False
        self._deadline: float | None = None
        self._woken, self._wake = os.pipe()
        for end in (self._woken, self._wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for number in _ASKED_TO_END:
            signal.signal(number, self._ask)
        signal.signal(signal.SIGCHLD, _pass)  # wakes us
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)

    def forget(self) -> None:
        """Be like any process again, but that a request to end is a `KeyboardInterrupt`, and comes once."""
        signal.set_wakeup_fd(-1)
        os.close(self._woken)
        os.close(self._wake)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number in _ASKED_TO_END:
            signal.signal(number, _interrupt)

    def until_the_end_of(self, worker: int) -> int:
        """Wait for it, and see that nothing of it is left. Returns its wait status."""
        selector = selectors.DefaultSelector()
        selector.register(0, selectors.EVENT_READ)
        selector.register(self._woken, selectors.EVENT_READ)
        while (status := _reaped(worker)) is None:
            for key, _ in selector.select(self._seconds_left()):
                if not _read(key.fd) and key.fd == 0:
                    selector.unregister(0)
                    self._asked = True
            self._end(worker)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(worker, signal.SIGKILL)
        _sweep()
        return status

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._asked = True

    def _seconds_left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _end(self, worker: int) -> None:
        """Ask it to end if that is wanted, and kill it if that was of no use."""
        if not self._asked:
            return
        if self._deadline is None:
            self._deadline = time.monotonic() + self._grace
            os.kill(worker, signal.SIGTERM)
        elif time.monotonic() >= self._deadline:
            self._deadline += self._grace
            os.kill(worker, signal.SIGKILL)


def _pass(number: int, frame: FrameType | None) -> None:
    """A signal that only wakes."""


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    for each in _ASKED_TO_END:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return b""


def _reaped(worker: int) -> int | None:
    """The wait status of that process if it has ended; orphans that ended are dismissed."""
    status = None
    with suppress(ChildProcessError):
        while True:
            pid, ended = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            if pid == worker:
                status = ended
    return status


def _sweep() -> None:
    """Kill what was handed to us, and what is handed to us when that ends, until nothing is left."""
    until = time.monotonic() + _SWEEP_SECONDS
    while (children := list(_children())) and time.monotonic() < until:
        for pid in children:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        _reaped(0)
        time.sleep(_SWEEP_PAUSE)


def _children() -> Iterator[int]:
    """The children of this process, where the system has /proc (proc_pid_stat(5): the parent is the fourth field)."""
    parent = str(os.getpid())
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1] == parent:
                yield int(file.parent.name)


def _end_like(status: int) -> NoReturn:
    """End with that wait status, but leave no core."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def _prctl(option: int, value: int) -> None:
    """Set an attribute of this process, where the system has `prctl`."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
