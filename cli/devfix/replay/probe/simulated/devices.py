"""`torch.device` itself, where it is given an ordinal alone: torch would ask for an accelerator that is not there."""

from __future__ import annotations

from typing import Any

import torch

from .mode import ClaimMode
from .state import Simulation

_Device: Any = torch.device


class _LooksLikeDevice(type):
    """The class of what stands for `torch.device`: it makes, knows and equals the real one."""

    kind: str

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
