"""`torch.fft` in half precision, which cuFFT has and the host's library lacks."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, SupportsIndex

import torch

from .claims import place_of
from .low_precision import lowered, raised
from .mode import ClaimMode
from .patching import wrap_function
from .state import Simulation

_HALF = (torch.float16, torch.complex32)
_NAMES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_TO_REAL = ("irfft", "hfft")


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch the transforms."""
    for name in _NAMES:
        for suffix, dims in (("", (-1,)), ("2", (-2, -1)), ("n", None)):
            wrap_function(torch.fft, name + suffix, _transform(simulation, name in _TO_REAL, dims))


def _transform(simulation: Simulation, to_real: bool, dims: tuple[int, ...] | None) -> Callable[..., Any]:
    """`dims` are those that are transformed where the caller names none; None for all."""

    def around(original: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if tensor.dtype not in _HALF or not simulation.is_device(place_of(tensor)):
            return original(tensor, *args, **kwargs)
        wide = original(raised(tensor), *args, **kwargs)
        _want_powers_of_two(_signal_sizes(wide if to_real else tensor, dims, *args, **kwargs))
        return lowered(wide, tensor.dtype)

    return around


def _signal_sizes(
    signal: torch.Tensor, dims: Any, s: Any = None, dim: Any = None, norm: Any = None, *, n: Any = None, out: Any = None
) -> list[int]:
    """The sizes of what is transformed: `s`, or `n` for one dimension, or else those that `signal` has."""
    lengths = _listed(s if n is None else n)
    places = _listed(dims if dim is None else dim)
    if places is None:
        places = list(range(-(len(lengths) if lengths else signal.dim()), 0))
    return [
        signal.size(place) if length == -1 else length for place, length in zip(places, lengths or [-1] * len(places))
    ]


def _listed(numbers: Any) -> list[int] | None:
    return [index(numbers)] if isinstance(numbers, SupportsIndex) else None if numbers is None else list(numbers)


def _want_powers_of_two(sizes: list[int]) -> None:
    """`CuFFTConfig` in aten/src/ATen/native/cuda/CuFFTPlanCache.h.

    Raises:
        RuntimeError: a size is no power of two.
    """
    if any(size & (size - 1) for size in sizes):
        raise RuntimeError(
            "cuFFT only supports dimensions whose sizes are powers of two when computing in half precision, but got a "
            f"signal size of{sizes}"
        )
