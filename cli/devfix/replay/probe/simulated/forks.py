"""Processes that the script forks, as workers of a loader are: the simulation goes on in them, a CUDA context does not.

A fork keeps the patches and the forking thread's mode. As in torch, it cannot use the device if its parent did:
initialising again raises, and so does every kernel on a tensor that it inherited.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .claims import claim_of, tensors_in
from .mode import ClaimMode
from .patching import wrap, wrap_method
from .state import Simulation, cuda_error

CUDA_ERROR_NOT_INITIALIZED = 3
"""`cudaErrorInitializationError` of the CUDA runtime."""

_READING = ("tolist", "__repr__")
"""Methods that copy what is on a device to the host, and of which the mode sees nothing on the host itself."""


@dataclass
class _Driver:
    """Whether the driver was woken without a context being made, which is enough to spoil it for forks."""

    woken: bool = False


def install(simulation: Simulation, mode: ClaimMode) -> None:
    """Have forks know that they are such."""
    driver = _Driver()

    def is_available(original: Callable[..., Any]) -> Any:
        # torch's notes on multiprocessing, "poison fork": asking the runtime, not NVML, is enough.
        driver.woken = driver.woken or os.getenv("PYTORCH_NVML_BASED_CUDA_CHECK") != "1"
        return original()

    def in_child() -> None:
        if simulation.forked or simulation.policy.shares_with_forks or not (simulation.initialised or driver.woken):
            return
        simulation.forked, simulation.initialised = True, False
        mode.__class__ = _ForkedMode
        _refuse_shared_device_memory(simulation)
        for name in _READING:
            wrap_method(name, _refuse_on_device)

    wrap(torch.cuda, "is_available", is_available)
    os.register_at_fork(after_in_child=in_child)


class _ForkedMode(ClaimMode):  # type: ignore[no-untyped-call]
    """The mode in a fork whose parent has the context: kernels cannot run on tensors that claim a device."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not _is_view(func) and any(map(_on_device, tensors_in([*args, *(kwargs or {}).values()]))):
            raise cuda_error("initialization error", CUDA_ERROR_NOT_INITIALIZED)
        return super().__torch_dispatch__(func, types, args, kwargs)


def _refuse_on_device(original: Callable[..., Any], tensor: Any, *args: Any, **kwargs: Any) -> Any:
    if _on_device(tensor) and tensor.numel():
        raise cuda_error("initialization error", CUDA_ERROR_NOT_INITIALIZED)
    return original(tensor, *args, **kwargs)


def _is_view(func: Any) -> bool:
    """Whether `func` only looks at memory in another way, for which no kernel runs."""
    aliases = [result.alias_info for result in func._schema.returns]
    return bool(aliases) and all(alias is not None and not alias.is_write for alias in aliases)


def _on_device(tensor: Any) -> bool:
    claim = claim_of(tensor)
    return claim is not None and claim.place.type != "cpu"


def _refuse_shared_device_memory(simulation: Simulation) -> None:
    """For `default_collate` in a worker: C++ allocates the batch's memory (`THPStorage_pynew`) and finds no context."""
    original: Any = torch.UntypedStorage._new_shared

    def new_shared(size: int, *, device: Any = "cpu") -> Any:
        if simulation.is_device(torch.device(device)):
            raise cuda_error("initialization error", CUDA_ERROR_NOT_INITIALIZED)
        return original(size, device=device)

    torch.UntypedStorage._new_shared = staticmethod(new_shared)  # type: ignore[method-assign]
