"""`torch.UntypedStorage`: its place, and the methods that move or copy it."""

from __future__ import annotations

from typing import Any

import torch

from .claims import ATTRIBUTE, HOST, PINNED, Claim
from .mode import ClaimMode
from .patching import wrap
from .state import Simulation

_Storage = torch.UntypedStorage
_device_of: Any = torch._C.StorageBase.device.__get__


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch the class. `TypedStorage` asks its `UntypedStorage`."""

    def place(storage: Any) -> torch.device:
        claim = storage.__dict__.get(ATTRIBUTE)
        real: torch.device = _device_of(storage) if claim is None else claim.place
        return real

    def is_device(storage: Any) -> bool:
        return simulation.is_device(place(storage))

    def copy_at(storage: Any, where: torch.device, how: str) -> Any:
        copied = original_new(_Storage, storage.nbytes()).copy_(storage)
        copied.__dict__[ATTRIBUTE] = simulation.claim(where, how, storage.__dict__.get(ATTRIBUTE))
        return copied

    def new(_original: Any, cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device is None:
            return original_new(cls, *args, **kwargs)
        where = simulation.resolve(device)
        made = original_new(cls, *args, device="cpu" if simulation.is_device(where) else where, **kwargs)
        made.__dict__[ATTRIBUTE] = simulation.claim(where, "made by torch.UntypedStorage")
        return made

    def clone(original: Any, storage: Any) -> Any:
        claim: Claim | None = storage.__dict__.get(ATTRIBUTE)
        if claim is None or claim.place.type == "meta":
            return original(storage)
        copied = original_new(type(storage), storage.nbytes()).copy_(storage)
        copied.__dict__[ATTRIBUTE] = claim
        return copied

    def to(_original: Any, storage: Any, *, device: Any, non_blocking: bool = False) -> Any:
        where = simulation.resolve(device)
        return storage if where is place(storage) else copy_at(storage, where, "moved by .to")

    def cuda(_original: Any, storage: Any, device: Any = None, non_blocking: bool = False) -> Any:
        where = simulation.resolve(simulation.kind if device is None else device)
        return storage if where is place(storage) else copy_at(storage, where, "moved by .cuda")

    def cpu(_original: Any, storage: Any) -> Any:
        return storage if place(storage) is HOST else copy_at(storage, HOST, "moved by .cpu")

    def is_pinned(_original: Any, storage: Any, _device: Any = None) -> bool:
        return PINNED in storage.__dict__

    def pin_memory(_original: Any, storage: Any, _device: Any = None) -> Any:
        if place(storage) is not HOST:
            raise TypeError(f"cannot pin '{storage.type()}' only CPU memory can be pinned")
        if PINNED in storage.__dict__:
            return storage
        copied = copy_at(storage, HOST, "copied by .pin_memory")
        copied.__dict__[PINNED] = True
        return copied

    original_new = _Storage.__new__
    Class: Any = _Storage
    Class.__new__ = staticmethod(lambda cls, *args, **kwargs: new(None, cls, *args, **kwargs))
    Class.device = property(place)
    Class.is_cuda = property(is_device)
    for name, around in (
        ("clone", clone),
        ("to", to),
        ("cuda", cuda),
        ("cpu", cpu),
        ("is_pinned", is_pinned),
        ("pin_memory", pin_memory),
    ):
        wrap(Class, name, around)
