"""What the disk looked like when the bases of a run's files were worked out.

As long as a snapshot holds, every basis that rests on it does: a run over files that nobody touched need not find out
anew what each import means.
"""

import hashlib
import os
from collections.abc import Callable, Mapping

import msgspec

NONE = -1
"""The time of a folder that is not there."""


class State(msgspec.Struct, frozen=True, array_like=True):
    """When a file was changed last, and its size in bytes."""

    mtime_ns: int
    size: int


UNKNOWN = State(NONE, NONE)
"""That of a file that could not be read: it may be readable next time and look the same."""


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """Files by path, None where there is none; folders with their times; and the top of the project of each folder."""

    files: dict[bytes, State | None]
    folders: dict[bytes, int]
    tops: dict[bytes, bytes]

    def holds(self, top_of: Callable[[str], str], known: Mapping[str, State]) -> bool:
        """Whether all is as it was. `top_of` a folder is that of its project; `known` are files looked at already."""
        return (
            all(top_of(os.fsdecode(folder)) == os.fsdecode(top) for folder, top in self.tops.items())
            and all(changed(os.fsdecode(folder)) == time for folder, time in self.folders.items())
            and all(_state(os.fsdecode(path), known) == state for path, state in self.files.items())
        )

    @property
    def name(self) -> bytes:
        """A digest by which it is known."""
        return hashlib.sha256(msgspec.msgpack.encode(self)).digest()[:16]

    def joined(self, other: "Snapshot") -> "Snapshot":
        """Both of them."""
        return Snapshot(self.files | other.files, self.folders | other.folders, self.tops | other.tops)

    def is_older_than(self, time_ns: int) -> bool:
        """Whether nothing changed at `time_ns` or since: what did may change again within the same tick."""
        files = (state.mtime_ns for state in self.files.values() if state is not None)
        return max((*files, *self.folders.values()), default=NONE) < time_ns


def changed(folder: str) -> int:
    """When something last appeared in a folder or went, in nanoseconds; `NONE` where there is no folder."""
    try:
        return os.stat(folder).st_mtime_ns
    except (OSError, ValueError):
        return NONE


def state(path: str) -> State | None:
    """The file as it stands; None where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return State(status.st_mtime_ns, status.st_size)


def _state(path: str, known: Mapping[str, State]) -> State | None:
    return known.get(path) or state(path)
