"""Where tensors leave torch: numpy, DLPack and the array interfaces."""

from __future__ import annotations

from typing import Any

import torch

from .claims import HOST, place_of, set_claim
from .mode import ClaimMode
from .patching import wrap, wrap_method
from .state import Simulation

# DLDeviceType of dlpack.h.
_DLPACK_DEVICE = 2


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch the exits, and the entrances that are not factories."""

    def numpy(original: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        force = kwargs.get("force", args[0] if args else False)
        if place_of(tensor) is HOST or simulation.policy.reads_from_host():
            return original(tensor, *args, **kwargs)
        if force:
            return original(tensor.detach().cpu(), *args, **kwargs)
        raise _not_for_numpy(tensor)

    def array(original: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if place_of(tensor) is HOST or simulation.policy.reads_from_host():
            return original(tensor, *args, **kwargs)
        raise _not_for_numpy(tensor)

    def dlpack_device(original: Any, tensor: Any) -> Any:
        place = place_of(tensor)
        if not simulation.is_device(place):
            return original(tensor)
        return (torch.utils.dlpack.DLDeviceType(_DLPACK_DEVICE), place.index)

    def to_dlpack(original: Any, tensor: Any) -> Any:
        capsule = original(tensor)
        exported[id(capsule)] = (capsule, place_of(tensor))
        return capsule

    def from_dlpack(original: Any, ext_tensor: Any, *args: Any, **kwargs: Any) -> Any:
        _, place = exported.pop(id(ext_tensor), (None, HOST))
        if isinstance(ext_tensor, torch.Tensor):
            place = place_of(ext_tensor)
        shared = original(_Host(ext_tensor) if isinstance(ext_tensor, torch.Tensor) else ext_tensor, *args, **kwargs)
        set_claim(shared, simulation.claim(place, "made by torch.from_dlpack"))
        return shared

    # By identity, with what keeps it from being another's: a capsule takes no attributes.
    exported: dict[int, tuple[Any, torch.device]] = {}
    wrap_method("numpy", numpy)
    wrap_method("__array__", array)
    wrap_method("__dlpack_device__", dlpack_device)
    for module in (torch, torch.utils.dlpack):
        wrap(module, "from_dlpack", from_dlpack)
        wrap(module, "to_dlpack", to_dlpack)


class _Host:
    """A tensor as `torch.from_dlpack` must see it: on the host, where its memory is."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    def __dlpack__(self, **kwargs: Any) -> Any:
        kwargs.pop("stream", None)
        return self._tensor.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return (torch.utils.dlpack.DLDeviceType(1), 0)


def _not_for_numpy(tensor: torch.Tensor) -> TypeError:
    return TypeError(
        f"can't convert {place_of(tensor)} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
        "memory first."
    )
