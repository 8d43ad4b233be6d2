"""The process above a run: it outlives the run by as long as it takes to end whatever that started."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from . import wire

_SET_DEATH_SIGNAL, _SET_DUMPABLE, _SET_SUBREAPER = 1, 4, 36
"""From linux/prctl.h."""
_LOOK_SECONDS = 0.01
_END_SECONDS = 8.0
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def control(option: int, value: int) -> None:
    """prctl(2).

    Raises:
        OSError: it is not to be had.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def protect() -> None:
    """Keep other processes of the user from reading or tracing this one, and those that it forks."""
    control(_SET_DUMPABLE, 0)


def fork_run(link: socket.socket, outputs: list[int]) -> None:
    """Fork the run, with the descriptors `outputs` for its output and error, and return in it.

    This process stays its supervisor: it tells through `link` who it is and how the run ended, and ends it with
    everything that descends from it at a word from there.
    """
    control(_SET_SUBREAPER, 1)
    supervisor = os.getpid()
    run = os.fork()
    if run == 0:
        _become_run(supervisor, outputs)
        link.close()
        return
    for descriptor in outputs:
        os.close(descriptor)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    _Supervisor(link, run).watch()


def _become_run(supervisor: int, outputs: list[int]) -> None:
    control(_SET_DUMPABLE, 1)
    control(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)
    os.setsid()
    for number, descriptor in enumerate(outputs, 1):
        os.dup2(descriptor, number)
        os.close(descriptor)


@dataclass
class _Supervisor:
    """`status` is that of the run as `os.wait4` gives it, None while it runs."""

    link: socket.socket
    run: int
    status: int | None = None
    peak_memory: int = 0

    def watch(self) -> NoReturn:
        wire.send(self.link, {})  # our credentials go with it
        told = select.poll()
        told.register(self.link, select.POLLIN | select.POLLHUP)
        with contextlib.suppress(AttributeError, OSError):  # a kernel before 5.3: then the end is seen a little later
            told.register(os.pidfd_open(self.run), select.POLLIN)
        while self.status is None and not told.poll(_LOOK_SECONDS * 1000):
            self._reap()
        is_clear = self._end_all()
        times = os.times()
        with contextlib.suppress(OSError):
            wire.send(
                self.link,
                {
                    "status": self.status,
                    "memory": self.peak_memory,
                    "seconds": times.children_user + times.children_system,
                    "clear": is_clear,
                },
            )
        os._exit(0)

    def _end_all(self) -> bool:
        """End the run and all that descends from it; whether that worked."""
        deadline = time.monotonic() + _END_SECONDS
        while self._reap():
            if time.monotonic() > deadline:
                return False
            for process in _descendants(os.getpid()):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.001)
        return True

    def _reap(self) -> bool:
        """Take note of processes that have ended: orphans of the run come to us. Whether there are any left."""
        while True:
            try:
                process, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not process:
                return True
            if process == self.run:
                self.status, self.peak_memory = status, usage.ru_maxrss * 1024


def _descendants(process: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        children.setdefault(_parent(folder), []).append(int(folder.name))
    pending = [process]
    while pending:
        found = children.get(pending.pop(), [])
        yield from found
        pending += found


def _parent(process: Path) -> int:
    """From proc_pid_stat(5); 0 where it is gone."""
    try:
        return int((process / "stat").read_bytes().rpartition(b")")[2].split()[1])
    except OSError:
        return 0
