"""Device checks that torch makes above its kernels, in functions that are taken apart before a dispatch mode sees them.

On the host they compare places that are really alike. The sources are below `aten/src/ATen/native`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from .claims import HOST, claim_of, place_of
from .mode import ClaimMode
from .patching import wrap_function, wrap_method
from .state import Simulation

_Check = Callable[..., None]


def install(_simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch the functions and the methods of that name."""
    for name, check in _CHECKS.items():
        around = _checked(check)
        for owner in (torch, torch.linalg):
            wrap_function(owner, name, around)
        if name in _METHODS:
            wrap_method(name, around)
    for name in ("apply_", "map_", "map2_"):
        wrap_method(name, _host_only(name))
    sampling = sys.modules.get("torch.utils.data.dataset")
    if sampling is not None:
        # It has imported the function by name.
        sampling.randperm = torch.randperm  # type: ignore[attr-defined]


def _checked(check: _Check) -> Callable[..., Any]:
    def around(original: Any, *args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        return original(*args, **kwargs)

    return around


def _host_only(name: str) -> Callable[..., Any]:
    """`apply_` and its like in torch/csrc/utils/tensor_apply.cpp."""

    def around(original: Any, tensor: Any, *args: Any) -> Any:
        if place_of(tensor) is not HOST:
            raise TypeError(f"{name} is only implemented on CPU tensors")
        return original(tensor, *args)

    return around


def _apart(first: Any, second: Any) -> bool:
    """Whether both are tensors that claim different places."""
    if not isinstance(first, torch.Tensor) or not isinstance(second, torch.Tensor):
        return False
    if claim_of(first) is None or claim_of(second) is None:
        return False
    return place_of(first) is not place_of(second)


def _stft(tensor: Any, *args: Any, **kwargs: Any) -> None:
    """`stft` in SpectralOps.cpp. In torch/functional.py the window is the fifth argument."""
    window = kwargs.get("window", args[3] if len(args) > 3 else None)
    if _apart(tensor, window):
        raise RuntimeError(
            f"stft input and window must be on the same device but got self on {place_of(tensor)} and window on "
            f"{place_of(window)}"
        )


def _quantile(tensor: Any, q: Any, *_args: Any, **_kwargs: Any) -> None:
    """`quantile_checks` in Sorting.cpp."""
    if _apart(tensor, q):
        raise RuntimeError("quantile() q tensor must be on the same device as the input tensor")


def _tensor_split(_tensor: Any, *args: Any, **kwargs: Any) -> None:
    """`tensor_split` in TensorShape.cpp."""
    where = args[0] if args else kwargs.get("tensor_indices_or_sections")
    if isinstance(where, torch.Tensor) and place_of(where) is not HOST:
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {place_of(where)}"
        )


def _multi_dot(tensors: Any, **_kwargs: Any) -> None:
    """`multi_dot_impl` in LinearAlgebra.cpp."""
    for number, tensor in enumerate(tensors):
        if _apart(tensors[0], tensor):
            raise RuntimeError(
                f"multi_dot(): all tensors must be on the same device but tensor 0 is on {place_of(tensors[0])} and "
                f"tensor {number} on {place_of(tensor)}"
            )


def _grid_sampler(tensor: Any, grid: Any, *_args: Any, **_kwargs: Any) -> None:
    """`check_grid_sampler_common` in GridSamplerUtils.h."""
    if _apart(tensor, grid):
        raise RuntimeError(
            f"grid_sampler(): expected input and grid to be on same device, but input is on {place_of(tensor)} and "
            f"grid is on {place_of(grid)}"
        )


def _take_along_dim(tensor: Any, indices: Any, *_args: Any, **_kwargs: Any) -> None:
    """`_take_along_dim_helper` in TensorAdvancedIndexing.cpp compares the types of the devices."""
    if _apart(tensor, indices) and place_of(tensor).type != place_of(indices).type:
        raise RuntimeError(
            f"Expected tensor to have {place_of(tensor).type} Device, but got tensor with {place_of(indices).type} "
            "Device (while checking arguments for torch.take_along_dim():)"
        )


_CHECKS: dict[str, _Check] = {
    "stft": _stft,
    "quantile": _quantile,
    "nanquantile": _quantile,
    "tensor_split": _tensor_split,
    "multi_dot": _multi_dot,
    "grid_sampler": _grid_sampler,
    "take_along_dim": _take_along_dim,
}
_METHODS = frozenset(("quantile", "nanquantile", "tensor_split", "take_along_dim"))
