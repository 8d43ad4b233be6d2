"""The processes that runs are forked from: kept for as long as there are runs to come."""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devfix.replay.forkserver import ForkServer, Gone
from devfix.replay.processes import MARK, Command, Start

_OF_A_RUN = frozenset(("TMPDIR", MARK, "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"))
"""Variables that no library reads when it is loaded: each run has its own."""


@dataclass
class _Kept:
    """An interpreter that has imported torch, and what branched off it."""

    trunk: ForkServer
    branches: dict[tuple[tuple[str, ...], str, bool], ForkServer] = field(default_factory=dict)

    def branch(self, modules: Sequence[str], simulate: Any, search: bool) -> ForkServer:
        key = (tuple(modules), repr(simulate), search)
        if key not in self.branches:
            self.branches[key] = self._new(modules, simulate, search)
        return self.branches[key]

    def _new(self, modules: Sequence[str], simulate: Any, search: bool) -> ForkServer:
        if search:
            return self.branch(modules, simulate, search=False).branch(search=True)
        return self.trunk.branch(modules, simulate) if modules or simulate else self.trunk


class _Keeper:
    """Keeps processes from the first `open` to the last `close`. Several threads may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._kept: dict[tuple[str, frozenset[tuple[str, str]]], _Kept] = {}

    def open(self) -> None:
        with self._lock:
            self._users += 1

    def close(self) -> None:
        with self._lock:
            self._users -= 1
            while not self._users and self._kept:
                self._kept.popitem()[1].trunk.end()

    def branch(
        self, python: str, environment: Mapping[str, str], modules: Sequence[str], simulate: Any, search: bool
    ) -> ForkServer:
        """A process to fork.

        Raises:
            Gone: there is none, or it ended.
            OSError: it could not be started.
        """
        key = (python, frozenset((name, value) for name, value in environment.items() if name not in _OF_A_RUN))
        with self._lock:
            if not self._users:
                raise Gone("nobody keeps it")
            if key not in self._kept:
                self._kept[key] = _Kept(ForkServer.begin(python, environment))
            kept = self._kept[key]
            if not kept.trunk.is_alive:
                raise Gone("it ended")
            return kept.branch(modules, simulate, search)


_keeper = _Keeper()


@contextlib.contextmanager
def warm_starts() -> Iterator[None]:
    """Let runs be forked from processes that stay until the outermost of these contexts is left."""
    _keeper.open()
    try:
        yield
    finally:
        _keeper.close()


def fork_for(command: Command, modules: Sequence[str] = (), simulate: Any = None, search: bool = False) -> Start:
    """How to start `command` in a fork of a process that has imported torch and then `modules`.

    With `search` the command is to search for a driver.

    Raises:
        Gone: that is not possible.
    """
    if sys.platform != "linux" or command.confinement is not None or _has_relative_paths(command.environment):
        raise Gone("it cannot be forked")
    try:
        return _keeper.branch(command.arguments[0], command.environment, modules, simulate, search).start
    except OSError as error:
        raise Gone(str(error)) from error


def _has_relative_paths(environment: Mapping[str, str]) -> bool:
    """Whether the module path depends on where an interpreter is started."""
    entries = environment.get("PYTHONPATH", "")
    return bool(entries) and not all(map(os.path.isabs, entries.split(os.pathsep)))
