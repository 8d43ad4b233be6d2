"""Memory of the simulated device: what the storages that claim it take, counted when the script asks.

Counting on request costs the common path nothing. So a peak is the highest of the counts that were taken, and the
allocator has no pools and no cache: what is reserved is what is allocated.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch

from .claims import ATTRIBUTE
from .properties import TOTAL_MEMORY
from .state import Simulation

BLOCK = 512
"""Bytes: CUDA's caching allocator rounds up to multiples of this (`kMinBlockSize`)."""

_BYTES = ("allocated_bytes", "reserved_bytes", "active_bytes")
_COUNTS = ("allocation", "segment", "active")
_NOTHING = ("inactive_split_bytes", "inactive_split")
_EVENTS = ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free")
_POOLS = ("all", "large_pool", "small_pool")


@dataclass
class _Seen:
    """One quantity of a device: its last count, the highest, and the sums of all rises and of all falls."""

    current: int = 0
    peak: int = 0
    allocated: int = 0
    freed: int = 0

    def update(self, count: int) -> None:
        self.allocated += max(0, count - self.current)
        self.freed += max(0, self.current - count)
        self.current = count
        self.peak = max(self.peak, count)

    def as_statistics(self) -> dict[str, int]:
        return asdict(self)


class _Account:
    """The quantities of one device."""

    def __init__(self) -> None:
        self.bytes, self.requested, self.blocks = _Seen(), _Seen(), _Seen()

    def count(self, index: int) -> None:
        # For nothing CUDA's allocator is not asked.
        sizes = [size for storage in _storages_on(index) if (size := storage.nbytes())]
        self.bytes.update(sum(-(-size // BLOCK) * BLOCK for size in sizes))
        self.requested.update(sum(sizes))
        self.blocks.update(len(sizes))

    def all(self) -> tuple[_Seen, ...]:
        return self.bytes, self.requested, self.blocks


_accounts: dict[int, _Account] = {}


def _storages_on(index: int) -> list[Any]:
    """The live storages that claim device `index`."""
    found = []
    for value in gc.get_objects():
        if type(value) is torch.UntypedStorage:
            claim = value.__dict__.get(ATTRIBUTE)
            if claim is not None and claim.place.type == "cuda" and claim.place.index == index:
                found.append(value)
    return found


def _counted(index: int) -> _Account:
    account = _accounts.setdefault(index, _Account())
    account.count(index)
    return account


def free_and_total(index: int) -> tuple[int, int]:
    """Bytes of device `index`, as `cudaMemGetInfo` has them."""
    return max(0, TOTAL_MEMORY - _counted(index).bytes.current), TOTAL_MEMORY


def statistics(index: int) -> dict[str, Any]:
    """What `torch._C._cuda_memoryStats` returns. All memory is in the large pool."""
    account = _counted(index)
    nothing = _Seen().as_statistics()

    def pools(seen: _Seen) -> dict[str, dict[str, int]]:
        return {"all": seen.as_statistics(), "large_pool": seen.as_statistics(), "small_pool": dict(nothing)}

    result: dict[str, Any] = {name: pools(account.bytes) for name in _BYTES}
    result["requested_bytes"] = pools(account.requested)
    result.update({name: pools(account.blocks) for name in _COUNTS})
    result.update({name: pools(_Seen()) for name in _NOTHING})
    result.update({name: dict(nothing) for name in ("oversize_allocations", "oversize_segments")})
    result.update(dict.fromkeys(_EVENTS, 0))
    result["max_split_size"] = -1
    return result


def reset_peak(index: int) -> None:
    """Let the peaks of device `index` begin at what is there now."""
    for seen in _counted(index).all():
        seen.peak = seen.current


def reset_accumulated(index: int) -> None:
    """Let the sums of device `index` begin at zero."""
    for seen in _counted(index).all():
        seen.allocated = seen.freed = 0


def bindings(simulation: Simulation) -> dict[str, Callable[..., Any]]:
    """The functions of `torch._C` that speak of memory."""
    fractions: dict[int, float] = {}

    def checked(index: int) -> int:
        if not 0 <= index < simulation.devices:
            raise RuntimeError(f"Invalid device argument {index}: did you call init?")
        return index

    return {
        "_cuda_emptyCache": lambda: None,
        "_cuda_memoryStats": lambda index: statistics(checked(index)),
        "_cuda_resetPeakMemoryStats": lambda index: reset_peak(checked(index)),
        "_cuda_resetAccumulatedMemoryStats": lambda index: reset_accumulated(checked(index)),
        "_cuda_hostMemoryStats": dict,
        "_cuda_resetPeakHostMemoryStats": lambda: None,
        "_cuda_resetAccumulatedHostMemoryStats": lambda: None,
        "_cuda_setMemoryFraction": lambda fraction, index: fractions.__setitem__(index, fraction),
        "_cuda_getMemoryFraction": lambda index: fractions.get(index, 1.0),
        "_cuda_memorySnapshot": lambda _pool=None: {"segments": [], "device_traces": [], "allocator_settings": {}},
        "_cuda_record_memory_history": lambda *_args, **_kwargs: None,
        "_cuda_record_memory_history_legacy": lambda *_args, **_kwargs: None,
        "_cuda_isHistoryEnabled": lambda: False,
        "_cuda_attach_out_of_memory_observer": lambda _observer: None,
        "_cuda_cudaCachingAllocator_enable": lambda _value: None,
        "_cuda_cudaCachingAllocator_is_enabled": lambda: True,
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_setMemoryMetadata": lambda _metadata: None,
        "_cuda_getMemoryMetadata": lambda: "",
    }
