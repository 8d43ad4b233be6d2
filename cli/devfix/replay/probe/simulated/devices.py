"""`torch.device(1)`: torch would ask which accelerator the machine has, and fail, since there is none."""

from __future__ import annotations

from typing import Any

import torch

from .mode import ClaimMode
from .state import Simulation

_Device: Any = torch.device
"""The real class. All devices are its instances; nothing but the call by a number is simulated."""


class _LooksLikeDevice(type):
    """The metaclass of the class that replaces `torch.device`, which cannot be derived from.

    Scripts use `torch.device` as a class: they call it, compare with it, and ask `isinstance`. All of it must give what
    the real class gives, also where a library has kept that from before it was replaced.
    """

    kind: str
    """The type of the simulated devices, such as `cuda`."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], int):
            args = (cls.kind, *args)
        return _Device(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _Device)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _Device) or super().__subclasscheck__(subclass)

    def __eq__(cls, other: object) -> bool:
        return other is _Device or other is cls

    def __hash__(cls) -> int:
        return hash(_Device)

    def __getattr__(cls, name: str) -> Any:
        return getattr(_Device, name)


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Replace `torch.device`: `torch.device(1)` is `cuda:1`."""
    names = {"kind": simulation.kind, "__doc__": _Device.__doc__, "__module__": "torch"}
    torch.device = _LooksLikeDevice("device", (), names)  # type: ignore[misc, assignment]
