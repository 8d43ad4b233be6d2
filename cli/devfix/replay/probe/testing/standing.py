"""Where the program stands: in code of the tests, or in the library, and then what the tests called it with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, Callable, NamedTuple

from .files import LIBRARY, TESTS

TORCH = "torch"
"""Whose the optimizers are, which keep what they count on the host whoever steps them."""
_IMPORT = "<module>"
_VARIABLE_POSITIONAL, _VARIABLE_KEYWORDS = 0x04, 0x08


class Standing(NamedTuple):
    """`owner` is that of the innermost code of the project, None where none runs.

    `entry` is the frame of the library that the tests called, None where they did not: they called nothing, or
    imported it.
    """

    owner: str | None
    entry: FrameType | None = None


class Stands:
    """Tells where the program stands. `owner_of` tells whose a file is: None for what is not of the project."""

    def __init__(self, owner_of: Callable[[str], str | None]) -> None:
        self._owner_of = owner_of
        self._owners: dict[CodeType, str | None] = {}

    def here(self) -> Standing:
        """Where the caller's caller stands."""
        entry: FrameType | None = None
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            owner = self._owner(frame.f_code)
            if owner == TORCH and entry is None:
                return Standing(TORCH)
            if owner == TESTS:
                return Standing(TESTS if entry is None else LIBRARY, entry)
            if owner == LIBRARY:
                if frame.f_code.co_name == _IMPORT:
                    return Standing(LIBRARY)
                entry = frame
            frame = frame.f_back
        return Standing(None if entry is None else LIBRARY)

    def _owner(self, code: CodeType) -> str | None:
        if code not in self._owners:
            self._owners[code] = self._owner_of(code.co_filename)
        return self._owners[code]


def arguments(frame: FrameType) -> Iterator[Any]:
    """What `frame` was called with, as its locals have it now."""
    code, local = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & _VARIABLE_POSITIONAL) + bool(code.co_flags & _VARIABLE_KEYWORDS)
    for name in code.co_varnames[:count]:
        if name in local:
            yield local[name]


def constructed(frame: FrameType) -> Any:
    """The object whose constructor `frame` is; None where it is none."""
    code = frame.f_code
    if code.co_name != "__init__" or not code.co_argcount:
        return None
    return frame.f_locals.get(code.co_varnames[0])
