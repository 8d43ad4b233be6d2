"""One worker process from its start to its end, with an answer whatever happens to it."""

import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

import msgspec

from devfix.batch.engines import time_limit
from devfix.batch.migration.worker import GRACE, MIGRATE
from devfix.batch.records import Job, Outcome
from devfix.replay.processes import signal_name
from devfix.reporting.terminal import one_line

_CHUNK = 256 << 10
_TAIL_BYTES = 8 << 10
_TAIL_LINES = 3
_LAST_WORDS = 400
_LOOK_SECONDS = 1.0
_EXIT_SECONDS = 10.0
"""How long a worker may take to end that has answered, and a guard to end the rest."""


@dataclass(frozen=True)
class Program:
    """What a worker runs: `function` is called with the job, as `module:name`; `grace` is in seconds."""

    function: str = MIGRATE
    grace: float = GRACE

    @property
    def command(self) -> list[str]:
        """`-P`: the folder that the user happens to be in holds none of our modules."""
        options = ["--function", self.function, "--grace", str(self.grace)]
        return [sys.executable, "-P", "-m", "devfix.batch.migration.worker", *options]


class Stop:
    """Says to any number of workers that they are no longer wanted."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self._closed = False

    def fileno(self) -> int:
        """Can be read from as soon as it was said."""
        return self._read

    def say(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._write)

    def close(self) -> None:
        """Nobody listens any more."""
        self.say()
        os.close(self._read)


def supervise(job: Job, program: Program, stop: Stop | None = None) -> Outcome | str:
    """Have `job` done by a process of its own, on this machine: its outcome, or, in one line, why there is none.

    Never raises for anything that the process does. When this returns it is gone, and so is all that it started.
    """
    try:
        process = subprocess.Popen(
            program.command,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        return f"its process could not be started: {error.strerror}"
    supervised = _Supervised(process, program.grace)
    try:
        supervised.tell(msgspec.json.encode(job) + b"\n")
        supervised.wait(job.repository.timeout, stop)
    finally:
        supervised.end()
    return _answer(job, supervised)


class _Supervised:
    """`answer` is what the process wrote on standard output, `tail` the last of its standard error."""

    def __init__(self, process: subprocess.Popen[bytes], grace: float) -> None:
        self.process = process
        self.answer = bytearray()
        self.tail = b""
        self.timed_out = False
        self._grace = grace
        self._open = {_given(process.stdout).fileno(), _given(process.stderr).fileno()}
        self._selector = selectors.DefaultSelector()
        for descriptor in self._open:
            self._selector.register(descriptor, selectors.EVENT_READ)

    def tell(self, line: bytes) -> None:
        """The job. Standard input stays open: its end would say that we are gone."""
        with suppress(BrokenPipeError):  # it died at once
            rest = memoryview(line)
            while rest:
                rest = rest[_given(self.process.stdin).write(rest) or 0 :]

    def wait(self, seconds: float, stop: Stop | None) -> None:
        """Until it has ended by itself, or is to end: for the time, or because it is no longer wanted."""
        if stop is not None:
            self._selector.register(stop, selectors.EVENT_READ)
        limit = time.monotonic() + seconds
        self.timed_out = not self._follow(limit) and time.monotonic() >= limit

    def end(self) -> None:
        """See that it ends, and take what it wrote last."""
        if self.process.poll() is None:
            self.process.terminate()
            self._follow(time.monotonic() + self._grace + _EXIT_SECONDS)
        if self.process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        _given(self.process.stdin).close()
        until = time.monotonic() + self._grace + _EXIT_SECONDS
        while self._open and time.monotonic() < until:  # whoever killed it left the rest to its guard
            self._read(_LOOK_SECONDS)
        self._selector.close()
        for stream in (self.process.stdout, self.process.stderr):
            _given(stream).close()

    def _follow(self, deadline: float) -> bool:
        """Read what it writes until it has ended or is no longer wanted; False where that is not so by the deadline.

        One that has answered is given little time to end.
        """
        answers = _given(self.process.stdout).fileno()
        while (left := deadline - time.monotonic()) > 0:
            if not self._open:
                return self._ends_within(left)
            if answers not in self._open:
                deadline = min(deadline, time.monotonic() + _EXIT_SECONDS)
                answers = -1
            if not self._read(min(left, _LOOK_SECONDS)) or self.process.poll() is not None:
                return True
        return False

    def _read(self, seconds: float) -> bool:
        """Read what there is within that time; False where the process is no longer wanted."""
        for key, _ in self._selector.select(seconds):
            if isinstance(key.fileobj, Stop):
                self._selector.unregister(key.fileobj)
                return False
            chunk = os.read(key.fd, _CHUNK)
            if not chunk:
                self._selector.unregister(key.fd)
                self._open.discard(key.fd)
            elif key.fd == _given(self.process.stdout).fileno():
                self.answer += chunk
            else:
                self.tail = (self.tail + chunk)[-_TAIL_BYTES:]
        return True

    def _ends_within(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


def _given(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _answer(job: Job, supervised: _Supervised) -> Outcome | str:
    outcome = _outcome(supervised.answer)
    if outcome is not None:
        return outcome
    return time_limit(job) if supervised.timed_out else _reason(supervised)


def _outcome(answer: bytearray) -> Outcome | None:
    try:
        return msgspec.json.decode(answer, type=Outcome)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _reason(supervised: _Supervised) -> str:
    said = _last_words(supervised.tail)
    return _how_it_ended(supervised) + (f"; its last words: {said}" if said else "")


def _how_it_ended(supervised: _Supervised) -> str:
    code = supervised.process.returncode
    if code == -signal.SIGKILL:
        return "its process was killed (SIGKILL), perhaps for want of memory"
    if code < 0:
        return f"its process was ended by {signal_name(-code)}"
    if code > 0:
        return f"its process ended with exit code {code}"
    return "its process gave an answer that cannot be read" if supervised.answer else "its process gave no answer"


def _last_words(tail: bytes) -> str:
    lines = [line.strip() for line in tail.decode("utf-8", "replace").splitlines() if line.strip()]
    return one_line(" | ".join(lines[-_TAIL_LINES:]))[-_LAST_WORDS:]
