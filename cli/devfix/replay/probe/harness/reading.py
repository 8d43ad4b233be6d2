"""What the frames of an error tell of the values there, without running code of the project."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

_MOST = 20


def keys_at(trace: Sequence[TracebackType]) -> tuple[str, ...]:
    """The keys of the mappings that are asked for an entry in the innermost line."""
    if not trace:
        return ()
    frame, line = trace[-1].tb_frame, trace[-1].tb_lineno
    try:
        tree = ast.parse(linecache.getline(frame.f_code.co_filename, line).strip().rstrip(":"))
    except SyntaxError:
        return ()
    names = {**frame.f_globals, **frame.f_locals}
    asked = (node.value for node in ast.walk(tree) if isinstance(node, ast.Subscript))
    return tuple(key for node in asked for key in _keys(_value(node, names)))


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from [key for key in list(value)[:_MOST] if isinstance(key, str)]


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """What a name or an attribute of an object stands for; None for any other expression."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        own = getattr(_value(node.value, names), "__dict__", {})
        return own.get(node.attr) if isinstance(own, dict) else None
    return None
