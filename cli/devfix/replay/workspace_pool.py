"""Workspaces in which programs of one tree run at the same time."""

import contextlib
import os
import threading
from collections.abc import Hashable, Iterator

from devfix.replay.workspace import Workspace

MOST = 8
"""More programs at a time than that have too little memory each."""


class WorkspacePool:
    """Up to `size` copies of the tree of `workspace`, itself the first. Others are made when all are in use."""

    def __init__(self, workspace: Workspace, size: int) -> None:
        self._members = [_Member(workspace)]
        self._size = size
        self._member_of: dict[Hashable, _Member] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def workspace_for(self, run: Hashable) -> Iterator[Workspace]:
        """A workspace that nobody else uses for now: the same one for equal `run`."""
        with self._lock:
            member = self._member_of.setdefault(run, self._least_used())
            member.users += 1
        try:
            with member.lock:
                yield member.workspace
        finally:
            with self._lock:
                member.users -= 1

    def _least_used(self) -> "_Member":
        if len(self._members) < self._size and all(member.users for member in self._members):
            self._members.append(_Member(self._members[0].workspace.beside()))
        return min(self._members, key=lambda member: member.users)


class _Member:
    """A workspace, and how many use it or wait for it."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.lock = threading.Lock()
        self.users = 0


def default_parallelism() -> int:
    """As many programs at a time as there are processors."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, MOST)
