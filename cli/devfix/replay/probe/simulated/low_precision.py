"""Operators that the CPU lacks for float16 or bfloat16, or lacks at all, while CUDA has them."""

from __future__ import annotations

import re
from typing import Any

import torch

from .state import Simulation

_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
_NO_KERNEL_FOR_DTYPE = re.compile(r"not implemented for '(Half|BFloat16|ComplexHalf)'")
_NO_KERNEL_FOR_CPU = re.compile(r"Could not run '([^']+)' with arguments from the '(CPU|CUDA|\w*CPU)' backend")


def recovered(simulation: Simulation, func: Any, args: Any, kwargs: Any, error: RuntimeError) -> Any:
    """What `func` gives on a device, where it raised `error` on the CPU.

    An operator without a kernel for float16 or bfloat16 runs in float32 and its result is rounded, as CUDA's kernels
    accumulate in float32 too.

    Raises:
        NotSimulated: the CPU has no kernel for `func` at all, or `func` writes to its arguments.
        RuntimeError: `error`, which is not about what the CPU lacks.
    """
    text = str(error)
    lacking = _NO_KERNEL_FOR_CPU.search(text)
    if lacking:
        raise simulation.refuse(f"{lacking[1]}, which only has a kernel for CUDA") from error
    if not _NO_KERNEL_FOR_DTYPE.search(text):
        raise error
    if func._schema.is_mutable:
        raise simulation.refuse(f"{func.name()} in low precision: {text}") from error
    low = next(leaf.dtype for leaf in _leaves((args, kwargs)) if is_low(leaf))
    return lowered(func(*_map(args, raised), **_map(kwargs, raised)), low)


def is_low(value: Any) -> bool:
    """Whether `value` is a tensor of a type that the CPU lacks kernels for."""
    return isinstance(value, torch.Tensor) and value.dtype in _WIDER


def raised(value: Any) -> Any:
    """`value`, in the type that stands for its own if that is low."""
    return value.to(_WIDER[value.dtype]) if is_low(value) else value


def lowered(result: Any, low: torch.dtype) -> Any:
    """`result`, computed in a type that stands for `low`, as computing in `low` itself would give it."""
    real = torch.float16 if low is torch.complex32 else low
    types = {torch.float32: real, torch.complex64: torch.complex32 if real is torch.float16 else torch.complex64}

    def change(value: Any) -> Any:
        return value.to(types[value.dtype]) if isinstance(value, torch.Tensor) and value.dtype in types else value

    return _map(result, change)


def _map(values: Any, change: Any) -> Any:
    return torch.utils._pytree.tree_map(change, values)


def _leaves(values: Any) -> list[Any]:
    leaves: list[Any] = torch.utils._pytree.tree_leaves(values)
    return leaves
