"""Tensors sent to other processes: their claims travel with them, as CUDA's memory handles do.

The memory is shared as that of host tensors is; what tells the receiver the place is the claim beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

import torch
import torch.multiprocessing.reductions

from .claims import Claim, claim_of, interned, set_claim
from .forks import CUDA_ERROR_NOT_INITIALIZED
from .mode import ClaimMode
from .state import Simulation, cuda_error

_sharing: Any = torch.multiprocessing
_storages: Any = torch.storage
_reductions: Any = torch.multiprocessing.reductions

HISTORY = 8
"""How many of a tensor's claims are sent, the latest first."""

Told = tuple[tuple[str, str, "str | None", "int | None"], ...]
"""Claims as plain values: place, how, file, line; the latest first."""


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Have what torch registered for tensors in `ForkingPickler` send claims."""
    usual = _reductions.reduce_tensor

    def reduce_tensor(tensor: Any) -> Any:
        claim = claim_of(tensor)
        if claim is None or tensor.layout is not torch.strided or tensor.is_nested:
            return usual(tensor)  # Sparse and nested ones go as the tensors that they are made of.
        if not simulation.is_device(claim.place):
            return _rebuild, (*usual(tensor), _told(claim))
        if simulation.forked:
            raise cuda_error("initialization error", CUDA_ERROR_NOT_INITIALIZED)
        return _rebuild, (*_reduce_device_tensor(tensor, usual), _told(claim))

    known: dict[type, Callable[..., Any]] = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    for kind in [kind for kind, reducer in known.items() if reducer is usual]:
        ForkingPickler.register(kind, reduce_tensor)
    _reductions.reduce_tensor = reduce_tensor  # What torch asks for the parts of a tensor.


def _reduce_device_tensor(tensor: Any, usual: Callable[[Any], Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """As `usual` does for a host tensor, which this is underneath."""
    if tensor.requires_grad and not tensor.is_leaf:
        usual(tensor)  # It raises before it looks at the device.
    torch.utils.hooks.warn_if_has_hooks(tensor)
    metadata = (tensor.storage_offset(), tensor.size(), tensor.stride(), tensor.requires_grad)
    return _rebuild_device_tensor, (type(tensor), tensor.dtype, _Memory(tensor.untyped_storage()), metadata)


def _rebuild_device_tensor(kind: type, dtype: torch.dtype, memory: Any, metadata: Any) -> Any:
    torch.cuda._lazy_init()  # type: ignore[no-untyped-call]  # As `rebuild_cuda_tensor` does.
    storage = _storages.TypedStorage(wrap_storage=memory, dtype=dtype, _internal=True)
    return _reductions.rebuild_tensor(kind, storage, metadata)


class _Memory:
    """A storage that is sent as one of the host, whatever it claims."""

    def __init__(self, storage: torch.UntypedStorage) -> None:
        self._storage = storage

    def __reduce__(self) -> Any:
        storage: Any = self._storage
        kind = torch.UntypedStorage
        if _sharing.get_sharing_strategy() == "file_system":
            metadata = storage._share_filename_cpu_()
            storage._shared_incref()
            _reductions.shared_cache[metadata[1]] = _reductions.StorageWeakRef(storage)
            return _reductions.rebuild_storage_filename, (kind, *metadata)
        if storage.nbytes() == 0:
            return _reductions.rebuild_storage_empty, (kind,)
        descriptor, size = storage._share_fd_cpu_()
        _reductions.shared_cache[_reductions.fd_id(descriptor)] = _reductions.StorageWeakRef(storage)
        return _reductions.rebuild_storage_fd, (kind, DupFd(descriptor), size)


def _told(claim: Claim) -> Told:
    told: list[tuple[str, str, str | None, int | None]] = []
    link: Claim | None = claim
    while link is not None and len(told) < HISTORY:
        told.append((str(link.place), link.how, link.file, link.line))
        link = link.before
    return tuple(told)


def _rebuild(function: Callable[..., Any], arguments: tuple[Any, ...], told: Told) -> Any:
    tensor = function(*arguments)
    claim: Claim | None = None
    for place, how, file, line in reversed(told):
        claim = Claim(interned(torch.device(place)), how, file, line, claim)
    if claim is not None:
        set_claim(tensor, claim)
    return tensor
