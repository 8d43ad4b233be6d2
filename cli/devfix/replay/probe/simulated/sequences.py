"""Recurrent layers and packed sequences: above their kernels, torch compares devices by itself."""

from __future__ import annotations

from typing import Any

import torch

from .calls import refuse
from .claims import HOST, forget_claim, place_of, set_claim
from .messages import SCALAR_TYPES
from .mode import ClaimMode
from .patching import wrap_function
from .selfchecks import check_rnn
from .state import Simulation

_VF: Any = torch._VF


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch the functions below `torch.nn.RNN` and its like, and below `torch.nn.utils.rnn`."""

    def layer(original: Any, data: Any, *args: Any) -> Any:
        packed = not isinstance(args[1], (list, tuple)) or isinstance(args[2], (list, tuple))
        hidden, parameters = args[1:3] if packed else args[:2]
        states = [hidden] if isinstance(hidden, torch.Tensor) else hidden
        weights = [("params", weight) for weight in parameters]
        check_rnn(simulation, ("input", data), [("hx", state) for state in states], weights)
        return original(data, *args)

    def pack(original: Any, data: Any, lengths: Any, batch_first: Any) -> Any:
        place = place_of(lengths)
        if place is not HOST:
            scalar = SCALAR_TYPES.get(lengths.dtype, "Undefined")
            text = (
                f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {place} {scalar} tensor"
            )
            refuse(simulation, text, ("lengths", lengths))
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
