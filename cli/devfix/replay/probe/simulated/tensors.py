"""What a tensor says of its place: attributes and small methods."""

from __future__ import annotations

from typing import Any

import torch

from .claims import ATTRIBUTE, HOST, Claim, adopt, claim_of, place_of
from .mode import ClaimMode
from .patching import replace_property, wrap_method
from .state import Simulation

_gradient_of: Any = torch._C.TensorBase.grad


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch the attributes."""

    def is_device(tensor: Any) -> bool:
        return simulation.is_device(place_of(tensor))

    def is_host(tensor: Any) -> bool:
        return place_of(tensor) is HOST

    def get_device(_original: Any, tensor: Any) -> int:
        place = place_of(tensor)
        index: int | None = place.index
        return -1 if index is None else index

    def assign_gradient(tensor: Any, gradient: Any) -> None:
        if isinstance(gradient, torch.Tensor):
            claim = claim_of(gradient)
            if claim is not None and claim.place is not place_of(tensor):
                raise RuntimeError(_assigned_apart(claim.place, place_of(tensor)))
        _gradient_of.__set__(tensor, gradient)

    def gradient_of(tensor: Any) -> Any:
        gradient = _gradient_of.__get__(tensor)
        if gradient is not None and claim_of(gradient) is None:
            adopt([gradient], claim_of(tensor))  # zeros, where nothing depends on the tensor
        return gradient

    def take_storage(original: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        here, there = claim_of(tensor), _claim_of_source(args[0] if args else kwargs.get("source"))
        if here is not None and there is not None and here.place is not there.place:
            raise RuntimeError(
                f'Attempted to set the storage of a tensor on device "{here.place}" to a storage on different device '
                f'"{there.place}".  This is no longer allowed; the devices must match.'
            )
        return original(tensor, *args, **kwargs)

    replace_property("device", place_of)
    replace_property("is_cuda", is_device)
    replace_property("is_cpu", is_host)
    replace_property("grad", gradient_of, assign_gradient)
    wrap_method("get_device", get_device)
    wrap_method("set_", take_storage)
    wrap_method("record_stream", lambda _original, _tensor, _stream: None)


def _claim_of_source(source: Any) -> Claim | None:
    """The claim of what `Tensor.set_` is given: a tensor or a storage."""
    if isinstance(source, torch.Tensor):
        return claim_of(source)
    storage = getattr(source, "_untyped_storage", source)
    return getattr(storage, "__dict__", {}).get(ATTRIBUTE)


def _assigned_apart(gradient: torch.device, tensor: torch.device) -> str:
    """What `THPVariable_set_grad` says; in other words since tensors have a `grad_dtype`."""
    if not hasattr(torch.Tensor, "grad_dtype"):
        return "assigned grad has data located on a different device"
    hint = "Please ensure that the gradient and the tensor are on the same device"
    if gradient.type != tensor.type:
        return (
            f"attempting to assign a gradient with device type '{gradient.type}' to a tensor with device type "
            f"'{tensor.type}'. {hint}"
        )
    return (
        f"attempting to assign a gradient located on device with index '{gradient.index}' to a tensor located on "
        f"device with index '{tensor.index}'. {hint}"
    )
