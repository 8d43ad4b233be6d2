"""`nn.DataParallel` and `torch.cuda.comm`: the C functions that spread tensors over devices and collect them.

Meanings and messages are those of `torch/csrc/cuda/comm.cpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .mode import ClaimMode
from .state import Simulation

NCCL_RELEASE = (2 << 32) + (21 << 16) + 5
"""2.21.5, as torch 2.5 and 2.6 have it. No collective of it runs."""


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Set the functions of `torch._C` that a CUDA build has."""
    for name, function in _bindings(simulation).items():
        setattr(torch._C, name, function)
    # With NCCL, torch would hand all tensors of a collective over at once; without, it adds them one by one.
    torch.cuda.nccl.is_available = lambda tensors: False


def _bindings(simulation: Simulation) -> dict[str, Callable[..., Any]]:
    def place(index: int) -> torch.device:
        return torch.device("cpu") if index < 0 else torch.device(simulation.kind, index)

    def broadcast(tensor: torch.Tensor, devices: Sequence[int]) -> list[torch.Tensor]:
        return [tensor.to(place(index)) for index in devices]

    def broadcast_out(tensor: torch.Tensor, out: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        for index, target in enumerate(out):
            if not target.is_cuda:
                raise RuntimeError(
                    f"Expected all output tensors to be CUDA tensors, but output tensor at index {index} has device "
                    f"'{target.device}'"
                )
            target.copy_(tensor)
        return out

    def broadcast_coalesced(
        tensors: Sequence[torch.Tensor], devices: Sequence[int], _buffer_size: int
    ) -> list[list[torch.Tensor]]:
        if any(tensor.device != place(devices[0]) for tensor in tensors):
            raise RuntimeError(f"All tensors must be on devices[0]: {devices[0]}")
        return [[tensor.to(place(index)) for tensor in tensors] for index in devices]

    def scatter(
        tensor: torch.Tensor, devices: Sequence[int], sizes: Sequence[int] | None, dim: int, _streams: Any
    ) -> list[torch.Tensor]:
        if sizes is None:
            chunks = tensor.chunk(len(devices), dim)
        else:
            chunks = tensor.split_with_sizes(list(sizes), dim)
        return [chunk.to(place(index), non_blocking=True) for chunk, index in zip(chunks, devices)]

    def scatter_out(
        tensor: torch.Tensor, out: Sequence[torch.Tensor], dim: int, _streams: Any
    ) -> Sequence[torch.Tensor]:
        chunks = tensor.split_with_sizes([target.size(dim) for target in out], dim)
        for target, chunk in zip(out, chunks):
            target.copy_(chunk)
        return out

    def gather(tensors: Sequence[torch.Tensor], dim: int, index: int) -> torch.Tensor:
        _check_on_devices(tensors)
        return torch.cat([tensor.to(place(index)) for tensor in tensors], dim)

    def gather_out(tensors: Sequence[torch.Tensor], out: torch.Tensor, dim: int) -> torch.Tensor:
        _check_on_devices(tensors)
        return torch.cat([tensor.to(out.device) for tensor in tensors], dim, out=out)

    return {
        "_nccl_version": lambda: NCCL_RELEASE,
        "_nccl_version_suffix": bytes,
        "_broadcast": broadcast,
        "_broadcast_out": broadcast_out,
        "_broadcast_coalesced": broadcast_coalesced,
        "_scatter": scatter,
        "_scatter_out": scatter_out,
        "_gather": gather,
        "_gather_out": gather_out,
    }


def _check_on_devices(tensors: Sequence[torch.Tensor]) -> None:
    for index, tensor in enumerate(tensors):
        if not tensor.is_cuda:
            raise RuntimeError(
                f"Expected all input tensors to be CUDA tensors, but tensor at index {index} has device "
                f"'{tensor.device}'"
            )
