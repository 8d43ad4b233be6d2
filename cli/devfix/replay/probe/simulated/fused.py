"""Functions that choose their operators by the device: what they do on CUDA with arguments in different places.

They decide it in C++, where all is on the host.
"""

from __future__ import annotations

from typing import Any

import torch

from .calls import Named, place_of
from .claims import HOST, forget_claim
from .mode import ClaimMode
from .patching import wrap_function
from .state import Simulation

_LOW_AND_SINGLE = (torch.float32, torch.float16, torch.bfloat16)


def install(simulation: Simulation, mode: ClaimMode) -> None:
    """Patch `scaled_dot_product_attention`, `rms_norm` and `ctc_loss`."""

    def attention(
        original: Any, query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **more: Any
    ) -> Any:
        _want_one_place(simulation, [("query", query), ("key", key), ("value", value)])
        if _differ(query, attn_mask) and query.dtype in _LOW_AND_SINGLE:
            # A mask rules flash attention out; the memory-efficient kernel takes it.
            operator = torch.ops.aten._scaled_dot_product_efficient_attention.default
            mode.checks.check(operator, (query, key, value, attn_mask, False), {})
        return original(query, key, value, attn_mask, *args, **more)

    def rms_norm(original: Any, source: Any, shape: Any, weight: Any = None, eps: Any = None) -> Any:
        operator = getattr(torch.ops.aten, "_fused_rms_norm", None)
        if operator is not None and _differ(source, weight) and source.dtype == weight.dtype:
            mode.checks.check(operator.default, (source, shape, weight, eps), {})
        return original(source, shape, weight, eps)

    def ctc_loss(original: Any, log_probs: Any, targets: Any, *args: Any, **more: Any) -> Any:
        if _differ(log_probs, targets):
            # ATen/native/LossCTC.cpp moves them "as a service for the user".
            targets = targets.clone()
            forget_claim(targets)
        # It makes lists of the lengths, wherever they are, but not where a dispatch mode is on.
        args = (*map(_listed, args[:2]), *args[2:])
        more = {name: _listed(value) if name.endswith("lengths") else value for name, value in more.items()}
        return original(log_probs, targets, *args, **more)

    for owner in (torch.nn.functional, torch._C._nn):
        wrap_function(owner, "scaled_dot_product_attention", attention)
    wrap_function(torch, "rms_norm", rms_norm)
    wrap_function(torch, "ctc_loss", ctc_loss)


def _want_one_place(simulation: Simulation, tensors: list[Named]) -> None:
    """`validate_sdpa_input` in ATen/native/transformers/attention.cpp.

    Raises:
        RuntimeError: the tensors are in different places.
    """
    places = [place_of(tensor) for _, tensor in tensors]
    if len({place for place in places if place is not None}) > 1:
        query, key, value = (place or HOST for place in places)
        simulation.refused[:] = tensors
        raise RuntimeError(
            "Expected query, key, and value to have the same device type, but got query.device: "
            f"{query} key.device: {key} and value.device: {value} instead."
        )


def _listed(lengths: Any) -> Any:
    is_plain = isinstance(lengths, torch.Tensor) and lengths.dim() == 1 and not lengths.is_floating_point()
    return lengths.tolist() if is_plain else lengths


def _differ(first: Any, second: Any) -> bool:
    places = place_of(first), place_of(second)
    return None not in places and places[0] is not places[1]
