"""Processes that import torch once and fork for each run, as seen from here: see `probe/forkserver.py`."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from devfix.replay.confinement import Confined
from devfix.replay.leftovers import Folder, to_undo, undone
from devfix.replay.probe import wire
from devfix.replay.processes import MARK, Command, End, Tick, kill_marked

MAIN = Path(__file__).parent / "probe" / "main.py"

_POLL_SECONDS = 0.02
_READY_SECONDS = 120.0
"""How long importing torch may take."""
_END_SECONDS = 10.0
"""How long the process above a run may take to end it: more than it gives itself (`probe/supervisor.py`)."""


class Gone(Exception):  # noqa: N818 - it says what it is
    """There is no process to fork: the command has to be run in one of its own."""


class ForkServer:
    """A process that forks for runs. Those of an interpreter share what they have imported, and end together."""

    def __init__(self, link: socket.socket, family: "_Family") -> None:
        self._link = link
        self._family = family
        self._lock = threading.Lock()
        family.links.append(link)

    @classmethod
    def begin(cls, python: str, environment: Mapping[str, str]) -> "ForkServer":
        """A new one for the interpreter `python`, which imports torch from now on.

        Raises:
            OSError: it could not be started.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                return cls(ours, _Family(python, environment, theirs))
            except BaseException:
                ours.close()
                raise

    @property
    def is_alive(self) -> bool:
        return self._family.is_alive

    def branch(self, modules: Sequence[str] = (), simulate: Any = None, search: bool = False) -> "ForkServer":
        """One that imports `modules` as well, and has a simulated accelerator where there is something to `simulate`.

        With `search` it has what searches for drivers.

        Raises:
            Gone: there is no process any more.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                order = {"modules": list(modules), "simulate": simulate, "search": search}
                self._send({"branch": order}, [theirs.fileno()])
            except BaseException:
                ours.close()
                raise
        return ForkServer(ours, self._family)

    @contextlib.contextmanager
    def start(self, command: Command, tick: Tick) -> "Iterator[_Run]":
        """Start `command`, which is one that runs `MAIN`, in a fork.

        Raises:
            Gone: that was not possible.
            OSError: there is no file descriptor left.
        """
        _python, _main, *arguments = command.arguments
        order = {
            "arguments": arguments,
            "folder": str(command.folder),
            "environment": {**command.environment, MARK: command.mark},
        }
        link, theirs = socket.socketpair()
        with link:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            (output, output_end), (error, error_end) = _pipe(), _pipe()
            try:
                with theirs, output_end, error_end:
                    self._send({"run": order}, [each.fileno() for each in (theirs, output_end, error_end)])
                run = _Run(link, (output, error), self._supervisor(link, tick), command.mark)
            except BaseException:
                output.close()
                error.close()
                raise
            yield run

    def end(self) -> None:
        """End all processes of the family."""
        self._family.end()

    def _send(self, content: dict[str, Any], descriptors: Sequence[int]) -> None:
        try:
            with self._lock:
                wire.send(self._link, content, descriptors)
        except OSError as error:
            raise Gone(str(error)) from error

    def _supervisor(self, link: socket.socket, tick: Tick) -> int:
        """The process above a run that was asked for, once there is one."""
        deadline = time.monotonic() + _READY_SECONDS
        while not select.select([link], [], [], _POLL_SECONDS)[0]:
            tick()
            if time.monotonic() > deadline:
                raise Gone(f"not there within {_READY_SECONDS:g} s")
        message = wire.receive(link)
        if message is None or message.sender is None:
            raise Gone("it ended")
        return message.sender


class _Family:
    """The first server of an interpreter, and those that branched off it, in one process group."""

    def __init__(self, python: str, environment: Mapping[str, str], link: socket.socket) -> None:
        self.links: list[socket.socket] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Folder("devfix-forkserver-")
        self._key = to_undo(self.end)
        folder = str(self._folder.path)
        try:
            self._process = subprocess.Popen(
                [python, str(MAIN), "--serve", str(link.fileno())],
                cwd="/",
                env={**environment, "TMPDIR": folder, MARK: folder},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[link.fileno()],
                start_new_session=True,
            )
        except BaseException:
            self.end()
            raise

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def end(self) -> None:
        """End all its processes, as far as they were started. It may be asked for again where that was interrupted."""
        for link in self.links:
            link.close()
        if self._process is None:  # Ctrl-C may come while Popen still waits to be told that the command runs
            kill_marked(str(self._folder.path))
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        self._folder.remove()
        undone(self._key)


class _Run:
    """A run in a fork. `link` leads to the process above it, `supervisor`."""

    confined: Confined | None = None  # what is confined is never forked: `warm.fork_for`

    def __init__(self, link: socket.socket, pipes: Sequence[IO[bytes]], supervisor: int, mark: str) -> None:
        self.pipes = pipes
        self._link = link
        self._supervisor = supervisor
        self._mark = mark
        self._told: dict[str, Any] | None = None

    def wait(self, seconds: float) -> bool:
        if self._told is None and select.select([self._link], [], [], seconds)[0]:
            message = wire.receive(self._link)
            self._told = {} if message is None else message.content
        return self._told is not None

    def end(self) -> End:
        """The process above ends the run. It is told so, for others may hold our end of the link as well."""
        with contextlib.suppress(OSError):
            wire.send(self._link, {})
        if not select.select([self._link], [], [], _END_SECONDS)[0]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._supervisor, signal.SIGKILL)
        self.wait(0)
        told = self._told or {}
        if not told.get("clear"):
            kill_marked(self._mark)
        status = told.get("status")
        code = -signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status)
        return End(code, told.get("memory"), told.get("seconds", 0.0))


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    """Where to read, and where to write."""
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb", buffering=0), os.fdopen(writing, "wb", buffering=0)
