"""What a driver holds to print what a run has computed, so that two runs can be compared. Its own text goes into it."""

from __future__ import annotations

import sys
import types
from collections import deque
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

DEEPEST = 4
MOST = 200
"""So many lines are printed of one value."""
OPAQUE = frozenset(getattr(sys, "stdlib_module_names", ())) - {"argparse", "collections", "types"}
"""Loggers, files and the like hold nothing that a program computes."""


def show(name: str, value: Any) -> None:
    """Print the tensors, numbers and words in a value, wherever they are; of modules the sum of each tensor.

    They are in the order of their names: it is the same whether a module keeps a tensor as an attribute or as a buffer.
    """
    lines: dict[str, Any] = {}
    waiting, seen = deque([(name, value, 0)]), set()
    while waiting and len(lines) < MOST:
        name, value, depth = waiting.popleft()
        if isinstance(value, torch.Tensor):
            value, is_plain = _shape(value) if _is_blank(value) else value.detach().cpu(), True
        else:
            is_plain = isinstance(value, (int, float, complex)) or type(value).__module__ == "numpy"
            is_plain = is_plain or (isinstance(value, str) and "/" not in value)  # no paths, which differ
        if is_plain:
            lines[name] = value
        elif depth < DEEPEST and id(value) not in seen:
            seen.add(id(value))
            waiting += [(f"{name}.{key}", part, depth + 1) for key, part in parts_of(value)]
    for name in sorted(lines):
        print(name, lines[name])


def parts_of(value: Any) -> list[tuple[Any, Any]]:
    """What a container, a module or another object holds, each with its name."""
    if isinstance(value, dict):
        return [(key if isinstance(key, (str, int)) else index, value[key]) for index, key in enumerate(value)]
    if isinstance(value, (list, tuple)):
        return list(enumerate(value))
    kind = type(value)
    is_opaque = kind.__module__.partition(".")[0] in OPAQUE or kind.__name__ == "StandIn"
    if is_opaque or isinstance(value, (type, types.FunctionType, types.ModuleType)):
        return []
    own = getattr(value, "__dict__", None)
    found = list(own.items()) if isinstance(own, dict) else []
    if isinstance(value, nn.Module):
        found = [(key, part) for key, part in found if key not in vars(nn.Module())]
        found += [*value.named_parameters(), *value.named_buffers()]
        return [(key, _sum(part) if isinstance(part, torch.Tensor) else part) for key, part in found]
    return found


def _sum(tensor: torch.Tensor) -> Any:
    if _is_blank(tensor) or tensor.layout is not torch.strided:
        return _shape(tensor)
    return tensor.detach().cpu().to(torch.complex128).sum().item()


def _is_blank(tensor: torch.Tensor) -> bool:
    """Whether there are no values in it."""
    return is_lazy(tensor) or tensor.is_meta


def _shape(tensor: torch.Tensor) -> str:
    return "no shape yet" if is_lazy(tensor) else str(tuple(tensor.shape))
