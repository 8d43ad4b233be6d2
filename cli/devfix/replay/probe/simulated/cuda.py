"""`torch.cuda`: the C functions below its Python code, so that the Python code that a script calls is torch's own.

A CUDA build of torch has these functions as `torch._C._cuda_…`; a CPU build lacks them. Messages and meanings are those
of `torch/csrc/cuda/Module.cpp`.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import torch

from . import memory, properties, streams
from .mode import ClaimMode
from .patching import wrap
from .state import Simulation, invalid_ordinal

Bindings = dict[str, Callable[..., Any]]

PEERS_CAN_ACCESS = True
"""Whether the devices reach each other's memory, as those of one machine commonly do."""

_NOT_SIMULATED = (
    "CUDAGraph",
    "CUDAPluggableAllocator",
    "GreenContext",
    "MemPool",
    "_compile_kernel",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "change_current_allocator",
    "clock_rate",
    "current_blas_handle",
    "current_solver_handle",
    "device_memory_used",
    "get_stream_from_external",
    "graph",
    "graph_pool_handle",
    "list_gpu_processes",
    "make_graphed_callables",
    "memory_usage",
    "power_draw",
    "temperature",
    "use_mem_pool",
    "utilization",
)
"""What reaches through to the driver or to code that was compiled for the device."""


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Have `torch.cuda` know of the simulated devices."""
    _bind({**_devices(simulation), **_switches(), **streams.bindings(simulation), **memory.bindings(simulation)})
    _describe_build()
    _set_captured(simulation)
    streams.install(simulation)
    _refuse(simulation)
    simulation.create_context = torch.cuda._lazy_init


def _bind(bindings: Bindings) -> None:
    for name, function in bindings.items():
        setattr(torch._C, name, function)


def _devices(simulation: Simulation) -> Bindings:
    def count() -> int:
        return visible_devices(simulation)

    def create() -> None:
        if count() == 0:
            raise RuntimeError("No CUDA GPUs are available")
        simulation.devices = count()
        simulation.initialised = True

    def select(index: int) -> None:
        if index < 0:
            return
        simulation.initialise()
        if index >= simulation.devices:
            raise invalid_ordinal()
        simulation.current = index

    def exchange(index: int) -> int:
        if index < 0:
            return -1
        previous = simulation.current
        select(index)
        return previous

    return {
        "_cuda_init": create,
        "_cuda_getDeviceCount": count,
        "_cuda_getDevice": lambda: simulation.current,
        "_cuda_setDevice": select,
        "_cuda_exchangeDevice": exchange,
        "_cuda_maybeExchangeDevice": exchange,
        "_cuda_isInBadFork": lambda: simulation.forked,
        "_cuda_hasPrimaryContext": lambda index: simulation.initialised,
        "_cuda_canDeviceAccessPeer": lambda device, peer: device != peer and PEERS_CAN_ACCESS,
        "_cuda_getCompiledVersion": lambda: properties.runtime_number(torch.version.cuda),
        "_cuda_getArchFlags": properties.architectures,
        "_cuda_ipc_collect": lambda: None,
        "_cuda_sleep": lambda cycles: None,
    }


def visible_devices(simulation: Simulation) -> int:
    """How many devices the script may see.

    As many as `CUDA_VISIBLE_DEVICES` names, whichever they are, but no more than are simulated: a script that asks for
    device 3 of its own machine finds the one that is there.
    """
    return min(simulation.devices, len(torch.cuda._parse_visible_devices()))


def _switches() -> Bindings:
    """Settings of CUDA's libraries: kept, and without an effect on values that the CPU computes."""
    kept = {"sync_debug_mode": 0, "cudnn_benchmark_limit": 10, "conv_benchmark_empty_cache": True}
    bindings: Bindings = {}
    for name, value in kept.items():
        bindings[f"_cuda_get_{name}"], bindings[f"_cuda_set_{name}"] = _kept(value)
    for name in ("Cublas", "CublasLt"):
        get, put = _kept(0)
        bindings[f"_cuda_get{name}WorkspaceSize"], bindings[f"_cuda_set{name}WorkspaceSize"] = get, put
    bindings["_cuda_clearCublasWorkspaces"] = lambda: None
    bindings["_cuda_isCurrentStreamCapturing"] = lambda: False
    bindings.update(_attention_switches())
    return bindings


def _attention_switches() -> Bindings:
    """Which kernels attention may use. Of the CPU's two, flash stands for both of CUDA's that fuse it in any precision.

    The other one, called math, stays allowed: there is no memory-efficient kernel, so that there might be none else.
    """
    use_flash = torch._C._set_sdp_use_flash
    names = [
        name
        for name in ("flash", "mem_efficient", "math", "cudnn", "overrideable")
        if hasattr(torch._C, f"_get_{name}_sdp_enabled")
    ]
    allowed = {name: getattr(torch._C, f"_get_{name}_sdp_enabled")() for name in names}

    def bind(name: str) -> Bindings:
        def allow(value: bool) -> None:
            allowed[name] = value
            use_flash(allowed["flash"] or allowed["mem_efficient"])

        return {f"_get_{name}_sdp_enabled": lambda: allowed[name], f"_set_sdp_use_{name}": allow}

    return {name: function for each in names for name, function in bind(each).items()}


def _kept(value: Any) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """Functions that read and set a variable, which is `value` at first."""
    holder = [value]
    return lambda: holder[0], lambda new: holder.__setitem__(0, new)


def _describe_build() -> None:
    """Describe torch as the CUDA build of its release."""
    torch._C._has_cuda = torch._C._has_cudnn = True
    if torch.version.cuda is None:
        torch.version.cuda = properties.cuda_release()
    library = types.SimpleNamespace(
        is_cuda=True,
        getVersionInt=properties.cudnn_version,
        getRuntimeVersion=properties.cudnn_release,
        getCompileVersion=properties.cudnn_release,
    )
    cudnn: Any = sys.modules["torch.backends.cudnn"].m
    cudnn._cudnn, cudnn._init, cudnn.__cudnn_version = library, lambda: True, properties.cudnn_version()
    cudnn.version = properties.cudnn_version
    # A build for CUDA would have cuDNN lay out the weights of recurrent networks anew, which changes no place.
    torch._use_cudnn_rnn_flatten_weight = lambda: False


def _set_captured(simulation: Simulation) -> None:
    """Set what `torch.cuda` looked up in `torch._C` when it was imported, and what C++ sets in it."""
    cuda: Any = torch.cuda
    bindings: Any = torch._C
    cuda._exchange_device = bindings._cuda_exchangeDevice
    cuda._maybe_exchange_device = bindings._cuda_maybeExchangeDevice
    cuda._is_in_bad_fork = bindings._cuda_isInBadFork
    cuda._device_count_nvml = lambda: visible_devices(simulation)
    cuda._get_device_properties = properties.of_device
    cuda._CudaDeviceProperties = bindings._CudaDeviceProperties = properties.DeviceProperties
    cuda.graphs._cuda_isCurrentStreamCapturing = bindings._cuda_isCurrentStreamCapturing
    cuda._cudart = _Runtime(simulation)
    cuda.nvtx._nvtx = _Nvtx()


class _Error(int):
    """A number that a function of the CUDA runtime returns."""

    success = 0


class _Runtime:
    """What `torch.cuda.cudart()` returns: the few functions of the CUDA runtime that have a meaning here."""

    cudaError = _Error  # noqa: N815 - the names of `torch._C._cudart`
    cudaGetErrorString = str  # noqa: N815
    cudaMemGetInfo = staticmethod(memory.free_and_total)  # noqa: N815

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def cudaProfilerStart(self) -> int:  # noqa: N802
        return 0

    def cudaProfilerStop(self) -> int:  # noqa: N802
        return 0

    def __getattr__(self, name: str) -> Any:
        raise self._simulation.refuse(f"{name} of the CUDA runtime")


class _Nvtx:
    """Ranges for NVIDIA's profiler, which is not there to see them; their depth is what the library returns."""

    def __init__(self) -> None:
        self._depth = 0
        self._handles = 0

    def rangePushA(self, _message: str) -> int:  # noqa: N802 - the names of `torch._C._nvtx`
        self._depth += 1
        return self._depth - 1

    def rangePop(self) -> int:  # noqa: N802
        self._depth -= 1
        return self._depth

    def rangeStartA(self, _message: str) -> int:  # noqa: N802
        self._handles += 1
        return self._handles

    def rangeEnd(self, _handle: int) -> None:  # noqa: N802
        """Nothing to end."""

    def markA(self, _message: str) -> None:  # noqa: N802
        """Nobody reads it."""

    def deviceRangeStart(self, _message: str, _stream: int) -> int:  # noqa: N802
        return 0

    def deviceRangeEnd(self, _handle: int, _stream: int) -> None:  # noqa: N802
        """Nothing to end."""


def _refuse(simulation: Simulation) -> None:
    for name in _NOT_SIMULATED:
        refuse_calls(simulation, torch.cuda, name, f"torch.cuda.{name}")
    # Its kernels may be made, as modules do when they are imported, and not called.
    refuse_calls(simulation, torch.cuda.jiterator._JittedFunction, "__call__", "torch.cuda.jiterator")


def refuse_calls(simulation: Simulation, owner: Any, name: str, called: str) -> None:
    """Have calls of `owner.name` raise that `called` is not simulated. A class stays a class, for `isinstance`."""

    def refused(_original: Any, *_args: Any, **_kwargs: Any) -> Any:
        raise simulation.refuse(called)

    original = getattr(owner, name, None)
    if isinstance(original, type):
        message = refused
        original.__new__ = lambda cls, *args, **kwargs: message(cls)  # type: ignore[method-assign,assignment]
    else:
        wrap(owner, name, refused)
