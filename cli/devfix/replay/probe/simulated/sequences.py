"""Recurrent layers and packed sequences: above their kernels, torch compares devices by itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from .claims import HOST, claim_of, forget_claim, place_of, set_claim
from .mode import ClaimMode
from .patching import wrap_function
from .state import Simulation

_VF: Any = torch._VF
_SCALARS = {
    torch.float32: "Float",
    torch.float64: "Double",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.bool: "Bool",
}


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch the functions below `torch.nn.RNN` and its like, and below `torch.nn.utils.rnn`."""

    def layer(original: Any, data: Any, *args: Any) -> Any:
        packed = not isinstance(args[1], (list, tuple)) or isinstance(args[2], (list, tuple))
        hidden, parameters = args[1:3] if packed else args[:2]
        check_layer(data, [hidden] if isinstance(hidden, torch.Tensor) else hidden, parameters)
        return original(data, *args)

    def pack(original: Any, data: Any, lengths: Any, batch_first: Any) -> Any:
        place = place_of(lengths)
        if place is not HOST:
            scalar = _SCALARS.get(lengths.dtype, "Undefined")
            raise RuntimeError(
                f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {place} {scalar} tensor"
            )
        # The operator may have host lengths with device data; what comes of both is decided here.
        neutral = lengths.clone()
        forget_claim(neutral)
        packed, batch_sizes = original(data, neutral, batch_first)
        set_claim(batch_sizes, simulation.claim(HOST, "made by pack_padded_sequence"))
        return packed, batch_sizes

    def unpack(original: Any, data: Any, batch_sizes: Any, *args: Any) -> Any:
        padded, lengths = original(data, batch_sizes, *args)
        set_claim(lengths, simulation.claim(HOST, "made by pad_packed_sequence"))
        return padded, lengths

    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        wrap_function(_VF, name, layer)
    wrap_function(_VF, "_pack_padded_sequence", pack)
    wrap_function(_VF, "_pad_packed_sequence", unpack)


def check_layer(data: Any, hidden: Iterable[Any], parameters: Iterable[Any]) -> None:
    """Compare the places of what a recurrent layer is given, as `check_attributes` of ATen's RNN.h does.

    Raises:
        RuntimeError: they differ.
    """
    place = place_of(data)
    for name, tensors in (("hidden", hidden), ("parameter", parameters)):
        for tensor in tensors:
            if claim_of(tensor) is not None and place_of(tensor) is not place:
                raise RuntimeError(
                    f"Input and {name} tensors are not at the same device, found input tensor at {place} and {name} "
                    f"tensor at {place_of(tensor)}"
                )
