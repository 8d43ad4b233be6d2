"""Operators that the CPU lacks for float16 or bfloat16, or lacks at all, while CUDA has them."""

from __future__ import annotations

import re
from typing import Any

import torch

from .state import Simulation

_LOW = (torch.float16, torch.bfloat16)
_NO_KERNEL_FOR_DTYPE = re.compile(r"not implemented for '(Half|BFloat16)'|Unsupported dtype (Half|BFloat16)")
_NO_KERNEL_FOR_CPU = re.compile(r"Could not run '([^']+)' with arguments from the '(CPU|CUDA|\w*CPU)' backend")


def recovered(simulation: Simulation, func: Any, args: Any, kwargs: Any, error: RuntimeError) -> Any:
    """What `func` gives on a device, where it raised `error` on the CPU.

    An operator without a kernel for float16 or bfloat16 runs in float32 and its result is rounded, as CUDA's kernels
    accumulate in float32 too.

    Raises:
        NotSimulated: the CPU has no kernel for `func` at all.
        RuntimeError: `error`, which is not about what the CPU lacks.
    """
    text = str(error)
    lacking = _NO_KERNEL_FOR_CPU.search(text)
    if lacking:
        raise simulation.refuse(f"{lacking[1]}, which only has a kernel for CUDA") from error
    if not _NO_KERNEL_FOR_DTYPE.search(text) or func._schema.is_mutable:
        raise error
    low = next(leaf.dtype for leaf in _leaves((args, kwargs)) if _is_low(leaf))
    result = func(*_map(args, _raised), **_map(kwargs, _raised))
    return _map(result, lambda value: _lowered(value, low))


def _is_low(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in _LOW


def _raised(value: Any) -> Any:
    return value.to(torch.float32) if _is_low(value) else value


def _lowered(value: Any, dtype: torch.dtype) -> Any:
    floating = isinstance(value, torch.Tensor) and value.dtype is torch.float32
    return value.to(dtype) if floating else value


def _map(values: Any, change: Any) -> Any:
    return torch.utils._pytree.tree_map(change, values)


def _leaves(values: Any) -> list[Any]:
    leaves: list[Any] = torch.utils._pytree.tree_leaves(values)
    return leaves
