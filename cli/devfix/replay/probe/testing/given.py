"""What is among the values that the tests gave to the library: tensors and devices, also inside of other values."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType, MethodType
from typing import Any

import torch

DEPTH = 4
SIZE = 300
"""How deep, and how many values, are looked at: a model in an object in a dict is three levels down."""
_LEAVES = (bytes, bytearray, int, float, complex, bool, type(None), type)


def devices_and_tensors(values: Iterable[Any]) -> Iterator[Any]:
    """Tensors, modules' parameters and buffers, devices, and strings, among `values` and inside of them."""
    level, seen = list(values), set[int]()
    for _ in range(DEPTH):
        deeper: list[Any] = []
        for value in level:
            if isinstance(value, (torch.Tensor, torch.device, str)):
                yield value
            elif not isinstance(value, _LEAVES) and id(value) not in seen and len(seen) < SIZE:
                seen.add(id(value))
                deeper.extend(_parts(value))
        level = deeper[:SIZE]


def _parts(value: Any) -> list[Any]:
    """What is inside of `value`, as far as that can be seen without running code of the project."""
    if isinstance(value, Mapping):
        return list(dict.values(value)) if isinstance(value, dict) else []
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    if isinstance(value, MethodType):
        return [value.__self__]
    if isinstance(value, FunctionType):
        return [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    own = getattr(value, "__dict__", None)
    return list(own.values()) if isinstance(own, dict) else []


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
