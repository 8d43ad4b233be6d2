"""How optimizers sort parameters by device and type before `_foreach_` and fused operators, which C++ does for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .mode import ClaimMode
from .patching import wrap
from .state import Simulation

_MIXED = (
    "Tensors of the same index must be on the same device and the same dtype except `step` tensors that can be CPU and "
    "float32/64 notwithstanding"
)
"""`_group_tensors_by_first_tensors_device_and_dtype` of `aten/src/ATen/native/ForeachUtils.h`."""

_Key = tuple[torch.device, torch.dtype]
_Lists = Sequence[Sequence[Any]]
"""Of tensors; a list may be empty, and its items None."""


def install(_simulation: Simulation, _mode: ClaimMode) -> None:
    """Sort by the devices that tensors claim."""

    def group(_original: Callable[..., Any], lists: _Lists, with_indices: bool = False) -> dict[_Key, Any]:
        members: dict[_Key, list[int]] = {}
        for index, first in enumerate(lists[0]):
            key = first.device, first.dtype
            if not all(_fits(values[index], key) for values in lists if values):
                raise RuntimeError(_MIXED)
            members.setdefault(key, []).append(index)
        return {
            key: ([[values[index] for index in indices] if values else [] for values in lists], indices)
            for key, indices in members.items()
        }

    wrap(torch._C, "_group_tensors_by_device_and_dtype", group)


def _fits(tensor: torch.Tensor | None, key: _Key) -> bool:
    if tensor is None:
        return True
    wide = tensor.dtype in (torch.float32, torch.float64)
    if tensor.device == key[0]:
        return wide or tensor.dtype is key[1]
    return wide and tensor.device.type == "cpu"
