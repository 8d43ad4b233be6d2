"""`torch.accelerator`, from torch 2.6: the C functions below its Python code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import memory
from .mode import ClaimMode
from .patching import wrap
from .state import Simulation


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Have torch take the simulated device for its accelerator."""
    for name, function in _bindings(simulation).items():
        wrap(torch._C, name, _instead(function))


def _instead(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _original, *args: function(*args)


def _bindings(simulation: Simulation) -> dict[str, Callable[..., Any]]:
    accelerator = torch.device(simulation.kind)

    def current_index() -> int:
        simulation.initialise()
        return simulation.current

    def select(index: int) -> None:
        torch.cuda.set_device(index)

    def current_stream(index: int) -> Any:
        return torch.cuda.current_stream(index)

    def exchange(index: int) -> int:
        previous: int = torch.cuda._exchange_device(index)
        return previous

    return {
        "_get_accelerator": lambda *_check: accelerator,
        "_accelerator_getAccelerator": lambda: accelerator,
        "_accelerator_getDeviceIndex": current_index,
        "_accelerator_setDeviceIndex": select,
        "_accelerator_exchangeDevice": exchange,
        "_accelerator_maybeExchangeDevice": exchange,
        "_accelerator_getStream": current_stream,
        "_accelerator_setStream": torch.cuda.set_stream,
        "_accelerator_synchronizeDevice": lambda _index: None,
        "_accelerator_isAllocatorInitialized": lambda: simulation.initialised,
        "_accelerator_emptyCache": lambda: None,
        "_accelerator_emptyHostCache": lambda: None,
        "_accelerator_getDeviceStats": memory.statistics,
        "_accelerator_getMemoryInfo": memory.free_and_total,
        "_accelerator_resetPeakStats": memory.reset_peak,
        "_accelerator_resetAccumulatedStats": memory.reset_accumulated,
        "_accelerator_getDeviceCapability": lambda _index: {"supported_dtypes": set(_dtypes())},
    }


def _dtypes() -> list[torch.dtype]:
    return [value for value in vars(torch).values() if isinstance(value, torch.dtype) and not _is_quantized(value)]


def _is_quantized(dtype: torch.dtype) -> bool:
    return str(dtype).startswith(("torch.q", "torch.bits"))
