"""Warnings of what is going to go away, and the line of the script that brought each about.

They are taken where `warnings.warn` is called: a script's own filters, and Python's, hide many of them later on.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

Report = Callable[[str, str, str, int], None]
"""Called with the category, the first line of the message that is not empty, the file and the line."""

CATEGORIES = (FutureWarning, DeprecationWarning, PendingDeprecationWarning)
LIMIT = 1000
MESSAGE_LIMIT = 500

_Note = Callable[[type, str, "FrameType | None"], None]
_notes: list[_Note] = []
_is_installed = False


def observe(place: Callable[[str], str | None], report: Report) -> None:
    """Report each such warning once for each line. `place` is the name of a file of the script's tree, else None."""
    seen: set[tuple[str, str, str, int]] = set()

    def note(category: type, text: str, frame: FrameType | None) -> None:
        where = _user_place(frame, place)
        if where is not None:
            first = next(filter(None, map(str.strip, text.splitlines())), "")
            record = (category.__name__, first[:MESSAGE_LIMIT], *where)
            if record not in seen and len(seen) < LIMIT:
                seen.add(record)
                report(*record)

    install()
    _notes.append(note)


def install() -> None:
    """Replace `warnings.warn`, before modules are imported that take it by its name."""
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    original: Any = warnings.warn

    @functools.wraps(original)
    def warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **kwargs: Any) -> None:
        kind = type(message) if isinstance(message, Warning) else category
        if isinstance(kind, type) and issubclass(kind, CATEGORIES):
            for note in _notes:
                note(kind, str(message), sys._getframe(1))
        # This frame is one more on the way up, but for who counts only the frames outside of some files.
        level = stacklevel if kwargs.get("skip_file_prefixes") else max(stacklevel, 1) + 1
        original(message, category, level, source, **kwargs)

    warnings.warn = warn


def _user_place(frame: FrameType | None, place: Callable[[str], str | None]) -> tuple[str, int] | None:
    """The innermost frame of the script's tree."""
    while frame is not None:
        file = place(frame.f_code.co_filename)
        if file is not None:
            return file, frame.f_lineno
        frame = frame.f_back
    return None
