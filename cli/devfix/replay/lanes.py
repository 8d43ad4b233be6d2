"""Places in which programs of one tree run side by side."""

import contextlib
import os
import threading
from collections.abc import Hashable, Iterator

from devfix.replay.workspace import Workspace

MOST = 8
"""More programs at a time than that have too little memory each."""


class Lanes:
    """So many places for copies of the tree of `workspace`, which is the first of them."""

    def __init__(self, workspace: Workspace, count: int) -> None:
        self._lanes = [_Lane(workspace)]
        self._count = count
        self._lane_of: dict[Hashable, _Lane] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def place(self, run: Hashable) -> Iterator[Workspace]:
        """A place that nobody else uses for now: the same one for equal `run`."""
        with self._lock:
            lane = self._lane_of.setdefault(run, self._least_used())
            lane.users += 1
        try:
            with lane.lock:
                yield lane.workspace
        finally:
            with self._lock:
                lane.users -= 1

    def _least_used(self) -> "_Lane":
        if len(self._lanes) < self._count and all(lane.users for lane in self._lanes):
            self._lanes.append(_Lane(self._lanes[0].workspace.beside()))
        return min(self._lanes, key=lambda lane: lane.users)


class _Lane:
    """A place, and how many use it or wait for it."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.lock = threading.Lock()
        self.users = 0


def usual() -> int:
    """As many as there are processors."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, MOST)
