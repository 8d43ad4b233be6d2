"""The journal that the probe writes, read by its parent.

The probe runs inside the script's process, which may write whatever it likes to the journal: what is not a line of
ours is left out, and neither a link nor a pipe nor endless data in its place does any harm. What looks like ours is
believed: a script can forge its own verdict, and nothing else.
"""

import contextlib
import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

_MOST_BYTES = 64 << 20


class Line(msgspec.Struct, tag_field="event", tag="line"):
    file: str
    line: int


class Loaded(msgspec.Struct, tag_field="event", tag="loaded"):
    file: str


class Loss(msgspec.Struct, tag_field="event", tag="loss"):
    """`value` is None for what is no number."""

    value: float | None


class Stopped(msgspec.Struct, tag_field="event", tag="stopped"):
    steps: int


class Warned(msgspec.Struct, tag_field="event", tag="warning"):
    category: str
    message: str
    file: str
    line: int


class NotSimulated(msgspec.Struct, tag_field="event", tag="not simulated"):
    what: str


class Note(msgspec.Struct, tag_field="event", tag="note"):
    text: str


class Failure(msgspec.Struct, tag_field="event", tag="error"):
    type: str
    message: str
    file: str | None = None
    line: int | None = None
    device: bool = False
    postmortem: Any = None
    frames: list[tuple[str, int]] = []


class Shared(msgspec.Struct, tag_field="event", tag="shared"):
    """Something that other runs can see."""

    what: str


class Differs(msgspec.Struct, tag_field="event", tag="unlike"):
    """The run was a fork, and would have gone otherwise in an interpreter of its own."""

    why: str


class Audited(msgspec.Struct, tag_field="event", tag="audit"):
    record: dict[str, Any]


class Driver(msgspec.Struct, tag_field="event", tag="driver"):
    """What a search for a driver came to."""

    text: str | None
    step: str | None = None
    why: str = ""
    absent: list[str] = []
    reached: list[int] = []
    is_inert: bool = False
    part: list[int] = []


class NoPytest(msgspec.Struct, tag_field="event", tag="no pytest"):
    """The interpreter has none."""


class Collected(msgspec.Struct, tag_field="event", tag="collected"):
    count: int


class TestBegins(msgspec.Struct, tag_field="event", tag="test begins"):
    id: str


class Test(msgspec.Struct, tag_field="event", tag="test"):
    """A test that is over. `gap` is what it met that is not simulated, `cause` whose the code is that failed."""

    id: str
    outcome: str
    seconds: float = 0.0
    error: dict[str, Any] | None = None
    cause: str | None = None
    gap: str | None = None
    lines: list[tuple[str, int]] = []
    postmortem: Any = None


class Uncollected(msgspec.Struct, tag_field="event", tag="uncollected"):
    """A file of tests that could not be imported."""

    id: str
    error: dict[str, Any] | None = None
    cause: str | None = None
    postmortem: Any = None


class End(msgspec.Struct, tag_field="event", tag="end"):
    """The script's end: the most memory that it had, in bytes, and the exit status that it asked for."""

    memory: int | None = None
    status: int | None = None


_OfTests = NoPytest | Collected | TestBegins | Test | Uncollected
_OfRuns = Line | Loaded | Loss | Stopped | Warned | NotSimulated | Note | Failure | Shared | Differs | Audited | End
_OfScripts = _OfRuns | Driver
Event = _OfScripts | _OfTests
One = TypeVar("One")


class Events:
    """The events of a run."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events

    def of(self, kind: type[One]) -> list[One]:
        """Those of a kind, in order."""
        return [event for event in self._events if isinstance(event, kind)]


def read_events(journal: Path) -> Events:
    """What a journal tells. A line that a kill cut short is left out."""
    events: list[Event] = []
    for line in _text(journal).splitlines():
        with contextlib.suppress(ValueError, RecursionError, msgspec.ValidationError):
            events.append(msgspec.convert(json.loads(line), Event))
    return Events(events)


def _text(journal: Path) -> str:
    try:
        descriptor = os.open(journal, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return file.read(_MOST_BYTES).decode("utf-8", "replace")
