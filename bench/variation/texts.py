"""Small changes of lines of code."""

from __future__ import annotations

from collections.abc import Iterable


def indented(lines: Iterable[str]) -> list[str]:
    """The lines, one level deeper."""
    return [f"    {line}" if line else line for line in lines]


def with_device(call: str, device: str) -> str:
    """A call of a factory with a `device=`."""
    inner = call.removesuffix(")")
    return f"{inner}{'' if inner.endswith('(') else ', '}device={device})"
