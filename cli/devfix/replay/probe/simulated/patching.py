"""Replacing attributes of torch, so that what replaces them looks like what was there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Replace the callable `owner.name` by one that calls `around(original, *args, **kwargs)`.

    Does nothing where this torch has no such attribute.
    """
    original = getattr(owner, name, None)
    if original is None:
        return

    @functools.wraps(original, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return around(original, *args, **kwargs)

    setattr(owner, name, wrapped)
