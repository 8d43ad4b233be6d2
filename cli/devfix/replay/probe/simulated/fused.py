"""Functions that choose their operators by the device: what they do on CUDA with arguments in different places.

They decide it in C++, where all is on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .calls import Named, apart, claimed_place, refuse
from .claims import HOST, forget_claim, place_of
from .mode import ClaimMode
from .patching import wrap_function
from .state import Simulation

_LOW_AND_SINGLE = (torch.float32, torch.float16, torch.bfloat16)


def install(simulation: Simulation, mode: ClaimMode) -> None:
    """Patch `scaled_dot_product_attention`, `rms_norm`, `ctc_loss`, and the cells of `GRUCell` and `LSTMCell`."""

    def attention(
        original: Any, query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **more: Any
    ) -> Any:
        _want_one_place(simulation, [("query", query), ("key", key), ("value", value)])
        if apart(query, attn_mask) and query.dtype in _LOW_AND_SINGLE:
            # A mask rules flash attention out; the memory-efficient kernel takes it.
            operator = torch.ops.aten._scaled_dot_product_efficient_attention.default
            mode.checks.check(operator, (query, key, value, attn_mask, False), {})
        return original(query, key, value, attn_mask, *args, **more)

    def rms_norm(original: Any, source: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:
        operator = getattr(torch.ops.aten, "_fused_rms_norm", None)
        if operator is not None and apart(source, weight) and source.dtype == weight.dtype:
            mode.checks.check(operator.default, (source, normalized_shape, weight, eps), {})
        return original(source, normalized_shape, weight, eps)

    def ctc_loss(original: Any, log_probs: Any, targets: Any, *args: Any, **more: Any) -> Any:
        if apart(log_probs, targets):
            # ATen/native/LossCTC.cpp moves them "as a service for the user".
            targets = targets.clone()
            forget_claim(targets)
        # It makes lists of the lengths, wherever they are, but not where a dispatch mode is on.
        args = (*map(_listed, args[:2]), *args[2:])
        more = {name: _listed(value) if name.endswith("lengths") else value for name, value in more.items()}
        return original(log_probs, targets, *args, **more)

    def cell(operator: Any) -> Callable[..., Any]:
        def around(original: Any, data: Any, hidden: Any, *parameters: Any) -> Any:
            states = [hidden] if isinstance(hidden, torch.Tensor) else hidden
            if simulation.is_device(place_of(data)) and any(apart(data, other) for other in (*states, *parameters)):
                # `GRUCell` and `LSTMCell` in ATen/native/RNN.cpp multiply without the biases, which the kernel adds.
                input_weight, hidden_weight, *biases = parameters
                with torch.no_grad():
                    gates = data @ input_weight.t(), states[0] @ hidden_weight.t()
                mode.checks.check(operator, (*gates, states[-1], *biases), {})
            return original(data, hidden, *parameters)

        return around

    wrap_function(torch._VF, "gru_cell", cell(torch.ops.aten._thnn_fused_gru_cell.default))
    wrap_function(torch._VF, "lstm_cell", cell(torch.ops.aten._thnn_fused_lstm_cell.default))
    for owner in (torch.nn.functional, torch._C._nn):
        wrap_function(owner, "scaled_dot_product_attention", attention)
    wrap_function(torch, "rms_norm", rms_norm)
    wrap_function(torch, "ctc_loss", ctc_loss)


def _want_one_place(simulation: Simulation, tensors: list[Named]) -> None:
    """`validate_sdpa_input` in ATen/native/transformers/attention.cpp.

    Raises:
        RuntimeError: the tensors are in different places.
    """
    places = [claimed_place(tensor) for _, tensor in tensors]
    if len({place for place in places if place is not None}) > 1:
        query, key, value = (place or HOST for place in places)
        text = (
            "Expected query, key, and value to have the same device type, but got query.device: "
            f"{query} key.device: {key} and value.device: {value} instead."
        )
        refuse(simulation, text, *tensors)


def _listed(lengths: Any) -> Any:
    is_plain = isinstance(lengths, torch.Tensor) and lengths.dim() == 1 and not lengths.is_floating_point()
    return lengths.tolist() if is_plain else lengths
