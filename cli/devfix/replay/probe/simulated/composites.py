"""Device checks in composite functions (`CompositeImplicitAutograd`), made again for the places that tensors claim.

A dispatch mode does not see these functions, only the operators that they call. Their own checks pass, since all values
are really on the host. The checks here repeat them in torch's words; the sources are below `aten/src/ATen/native`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from .calls import apart, refuse
from .claims import HOST, adopt, claim_of, place_of, tensors_in
from .mode import ClaimMode
from .patching import wrap_function, wrap_method
from .state import Simulation

_Check = Callable[..., None]
"""Takes the simulation and what the function was called with, and refuses what CUDA refuses."""


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Put each check before the functions of its name, and before the methods that do not call those functions."""
    for name, check in _CHECKS.items():
        around = _checked(simulation, check)
        for owner in (torch, torch.linalg):
            wrap_function(owner, name, around)
        if name in _METHODS:
            wrap_method(name, around)
    for owner in (torch, torch.linalg, torch.nn.functional, torch._C._nn):
        for name in _AFTER_AN_OPERAND:
            wrap_function(owner, name, _beside_operand)
    for name in ("apply_", "map_", "map2_"):
        wrap_method(name, _host_only(name))
    sampling = sys.modules.get("torch.utils.data.dataset")
    if sampling is not None:
        # It has imported the function by name.
        sampling.randperm = torch.randperm  # type: ignore[attr-defined]


def _checked(simulation: Simulation, check: _Check) -> Callable[..., Any]:
    def around(original: Any, *args: Any, **kwargs: Any) -> Any:
        check(simulation, *args, **kwargs)
        return original(*args, **kwargs)

    return around


def _beside_operand(original: Any, *args: Any, **kwargs: Any) -> Any:
    result = original(*args, **kwargs)
    claims = (claim_of(tensor) for tensor in tensors_in((*args, *kwargs.values())))
    adopt([result], next(filter(None, claims), None))
    return result


def _host_only(name: str) -> Callable[..., Any]:
    """`apply_` and its like in torch/csrc/utils/tensor_apply.cpp."""

    def around(original: Any, tensor: Any, *args: Any) -> Any:
        if place_of(tensor) is not HOST:
            raise TypeError(f"{name} is only implemented on CPU tensors")
        return original(tensor, *args)

    return around


def _stft(simulation: Simulation, tensor: Any, *args: Any, **kwargs: Any) -> None:
    """`stft` in SpectralOps.cpp."""
    _want_window_beside(simulation, "stft", tensor, args, kwargs)


def _istft(simulation: Simulation, tensor: Any, *args: Any, **kwargs: Any) -> None:
    """`istft` in SpectralOps.cpp."""
    _want_window_beside(simulation, "istft", tensor, args, kwargs)


def _want_window_beside(simulation: Simulation, name: str, tensor: Any, args: Any, kwargs: Any) -> None:
    # torch.stft(input, n_fft, hop_length, win_length, window): `args` are those behind the input.
    window = kwargs.get("window", args[3] if len(args) > 3 else None)
    if apart(tensor, window):
        text = (
            f"{name} input and window must be on the same device but got self on {place_of(tensor)} and window on "
            f"{place_of(window)}"
        )
        refuse(simulation, text, ("window", window), ("self", tensor))


def _quantile(simulation: Simulation, tensor: Any, q: Any, *_args: Any, **_kwargs: Any) -> None:
    """`quantile_checks` in Sorting.cpp."""
    if apart(tensor, q):
        text = "quantile() q tensor must be on the same device as the input tensor"
        refuse(simulation, text, ("q", q), ("self", tensor))


def _tensor_split(simulation: Simulation, *args: Any, **kwargs: Any) -> None:
    """`tensor_split` in TensorShape.cpp."""
    where = args[1] if len(args) > 1 else kwargs.get("tensor_indices_or_sections", kwargs.get("indices_or_sections"))
    if isinstance(where, torch.Tensor) and place_of(where) is not HOST:
        text = f"tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {place_of(where)}"
        refuse(simulation, text, ("tensor_indices_or_sections", where))


def _multi_dot(simulation: Simulation, tensors: Any, **_kwargs: Any) -> None:
    """`multi_dot_impl` in LinearAlgebra.cpp."""
    for number, tensor in enumerate(tensors):
        if apart(tensors[0], tensor):
            text = (
                f"multi_dot(): all tensors must be on the same device but tensor 0 is on {place_of(tensors[0])} and "
                f"tensor {number} on {place_of(tensor)}"
            )
            refuse(simulation, text, ("tensors", tensor), ("tensors", tensors[0]))


def _grid_sampler(simulation: Simulation, tensor: Any, grid: Any, *_args: Any, **_kwargs: Any) -> None:
    """`check_grid_sampler_common` in GridSamplerUtils.h."""
    if apart(tensor, grid):
        text = (
            f"grid_sampler(): expected input and grid to be on same device, but input is on {place_of(tensor)} and "
            f"grid is on {place_of(grid)}"
        )
        refuse(simulation, text, ("grid", grid), ("input", tensor))


def _take_along_dim(simulation: Simulation, tensor: Any, indices: Any, *_args: Any, **_kwargs: Any) -> None:
    """`_take_along_dim_helper` in TensorAdvancedIndexing.cpp compares the types of the devices."""
    if apart(tensor, indices) and place_of(tensor).type != place_of(indices).type:
        text = (
            f"Expected tensor to have {place_of(tensor).type} Device, but got tensor with {place_of(indices).type} "
            "Device (while checking arguments for torch.take_along_dim():)"
        )
        refuse(simulation, text, ("indices", indices), ("self", tensor))


def _meshgrid(simulation: Simulation, *tensors: Any, **_kwargs: Any) -> None:
    """`meshgrid` in TensorShape.cpp; `cartesian_prod` begins with it. Tensors come one by one or in a list."""
    listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    for first, second in zip(listed, listed[1:]):
        if apart(first, second):
            text = "meshgrid expects all tensors to have the same device"
            refuse(simulation, text, ("tensors", first), ("tensors", second))


def _gradient(simulation: Simulation, tensor: Any, *, spacing: Any = None, **_kwargs: Any) -> None:
    """`gradient_helper` in ReduceOps.cpp."""
    for coordinate in spacing if isinstance(spacing, (list, tuple)) else ():
        if apart(tensor, coordinate):
            text = (
                "torch.gradient expected each tensor to be on the same device, but got devices "
                f"{place_of(tensor)} and {place_of(coordinate)}!"
            )
            refuse(simulation, text, ("spacing", coordinate), ("self", tensor))


def _histogram(simulation: Simulation, tensor: Any, *_args: Any, **_kwargs: Any) -> None:
    """`native_functions.yaml` has kernels of `histogram` and `histogramdd` for the host alone."""
    if simulation.is_device(place_of(tensor)):
        # Not `refuse`, which raises torch's own error: this says that the simulation does not know what would happen.
        raise simulation.refuse("torch.histogram and torch.histogramdd, for which CUDA has no kernel")


_CHECKS: dict[str, _Check] = {
    "stft": _stft,
    "istft": _istft,
    "quantile": _quantile,
    "nanquantile": _quantile,
    "tensor_split": _tensor_split,
    "multi_dot": _multi_dot,
    "grid_sampler": _grid_sampler,
    "take_along_dim": _take_along_dim,
    "meshgrid": _meshgrid,
    "cartesian_prod": _meshgrid,
    "gradient": _gradient,
    "histogram": _histogram,
    "histogramdd": _histogram,
}
_AFTER_AN_OPERAND = ("combinations", "cond", "matrix_rank", "one_hot", "trapezoid", "trapz", "vander")
"""Functions that make some results, empty ones above all, with the options of an operand: C++ reads the host there."""
_METHODS = frozenset(("quantile", "nanquantile", "tensor_split", "take_along_dim", "histogram"))
