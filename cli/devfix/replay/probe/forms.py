"""What values are, as far as moving them goes: whether they have a `.to`, and what the elements of containers are."""

from __future__ import annotations

import collections
import types
from itertools import islice
from typing import Any

from . import reach

DEPTH = 3
ELEMENTS_LIMIT = 64
"""How many elements of a container are looked at."""
KINDS_LIMIT = 4
"""How many different kinds of elements are told."""

Record = dict[str, Any]

_NEVER_MOVED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_CONTAINERS = (dict, list, tuple, collections.UserDict)
_DICTS = (dict, collections.UserDict)


def form(value: Any, depth: int = DEPTH) -> Record | None:
    """The class of `value`, whether it can be moved, and the forms of its elements; None of functions and classes."""
    if any(reach.is_a(value, kind) for kind in _NEVER_MOVED):
        return None
    record: Record = {"type": reach.class_name(value), "moves": reach.has_method(value, "to")}
    if depth and any(reach.is_a(value, kind) for kind in _CONTAINERS):
        record["dict"] = any(reach.is_a(value, kind) for kind in _DICTS)
        record["parts"] = _parts(value, depth - 1)
    return record


def _parts(container: Any, depth: int) -> list[Record]:
    """The different forms of the elements, the first few."""
    found: list[Record] = []
    for _, value in islice(reach.entries(container, ELEMENTS_LIMIT), ELEMENTS_LIMIT):
        one = form(value, depth) or {"type": reach.class_name(value), "moves": False}
        if one not in found and len(found) < KINDS_LIMIT:
            found.append(one)
    return found
