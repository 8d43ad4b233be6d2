"""`nn.DataParallel` and `torch.cuda.comm`: the C functions that spread tensors over devices and collect them.

Meanings and messages are those of `torch/csrc/cuda/comm.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .mode import ClaimMode
from .state import Simulation

NCCL_RELEASE = (2 << 32) + (21 << 16) + 5
"""2.21.5, as torch 2.5 and 2.6 have it. No collective of it runs."""


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Set the functions of `torch._C` that a CUDA build has."""
    communication = _Communication(simulation.kind)
    for name in ("broadcast", "broadcast_out", "broadcast_coalesced", "scatter", "scatter_out", "gather", "gather_out"):
        setattr(torch._C, f"_{name}", getattr(communication, name))
    bindings: Any = torch._C
    bindings._nccl_version, bindings._nccl_version_suffix = lambda: NCCL_RELEASE, bytes
    # With NCCL, torch would hand all tensors of a collective over at once; without, it adds them one by one.
    torch.cuda.nccl.is_available = lambda tensors: False


class _Communication:
    """The functions; an index below 0 means the host."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def _place(self, index: int) -> torch.device:
        return torch.device("cpu") if index < 0 else torch.device(self._kind, index)

    def broadcast(self, tensor: torch.Tensor, devices: Sequence[int]) -> list[torch.Tensor]:
        return [tensor.to(self._place(index)) for index in devices]

    def broadcast_out(self, tensor: torch.Tensor, out: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        _check_on_devices(out, "output")
        for target in out:
            target.copy_(tensor)
        return out

    def broadcast_coalesced(
        self, tensors: Sequence[torch.Tensor], devices: Sequence[int], _buffer_size: int
    ) -> list[list[torch.Tensor]]:
        if any(tensor.device != self._place(devices[0]) for tensor in tensors):
            raise RuntimeError(f"All tensors must be on devices[0]: {devices[0]}")
        return [self._all_at(tensors, index) for index in devices]

    def scatter(
        self, tensor: torch.Tensor, devices: Sequence[int], sizes: Sequence[int] | None, dim: int, _streams: Any
    ) -> list[torch.Tensor]:
        chunks = tensor.chunk(len(devices), dim) if sizes is None else tensor.split_with_sizes(list(sizes), dim)
        return [chunk.to(self._place(index), non_blocking=True) for chunk, index in zip(chunks, devices)]

    def scatter_out(
        self, tensor: torch.Tensor, out: Sequence[torch.Tensor], dim: int, _streams: Any
    ) -> Sequence[torch.Tensor]:
        _check_on_devices(out, "output")
        for target, chunk in zip(out, tensor.split_with_sizes([target.size(dim) for target in out], dim)):
            target.copy_(chunk)
        return out

    def gather(self, tensors: Sequence[torch.Tensor], dim: int, index: int) -> torch.Tensor:
        _check_on_devices(tensors, "input")
        return torch.cat(self._all_at(tensors, index), dim)

    def gather_out(self, tensors: Sequence[torch.Tensor], out: torch.Tensor, dim: int) -> torch.Tensor:
        _check_on_devices(tensors, "input")
        return torch.cat([tensor.to(out.device) for tensor in tensors], dim, out=out)

    def _all_at(self, tensors: Sequence[torch.Tensor], index: int) -> list[torch.Tensor]:
        return [tensor.to(self._place(index)) for tensor in tensors]


def _check_on_devices(tensors: Sequence[torch.Tensor], role: str) -> None:
    for index, tensor in enumerate(tensors):
        if not tensor.is_cuda:
            raise RuntimeError(
                f"Expected all {role} tensors to be CUDA tensors, but {'' if role == 'input' else 'output '}tensor at "
                f"index {index} has device '{tensor.device}'"
            )
