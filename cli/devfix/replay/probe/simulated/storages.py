"""`torch.UntypedStorage`: its place, and the methods that move or copy it."""

from __future__ import annotations

from typing import Any

import torch

from .claims import ATTRIBUTE, HOST, PINNED, Claim, interned
from .mode import ClaimMode
from .patching import looking_like, wrap
from .state import Simulation

_Storage: Any = torch.UntypedStorage
_device_of: Any = _Storage.device.__get__
_new: Any = _Storage.__new__


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch the class. `TypedStorage` asks its `UntypedStorage`."""
    storages = Storages(simulation)

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return storages.new(cls, *args, **kwargs)

    _Storage.__new__ = staticmethod(looking_like(new, _new, _Storage, "__new__"))
    _Storage.device = property(storages.place)
    _Storage.is_cuda = property(storages.is_device)
    for name in ("clone", "to", "cuda", "cpu", "is_pinned", "pin_memory"):
        wrap(_Storage, name, getattr(storages, name))


class Storages:
    """The methods of a storage take the original as their first argument; see `patching.wrap`."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def place(self, storage: Any) -> torch.device:
        claim: Claim | None = storage.__dict__.get(ATTRIBUTE)
        return interned(_device_of(storage)) if claim is None else claim.place

    def is_device(self, storage: Any) -> bool:
        return self._simulation.is_device(self.place(storage))

    def new(self, cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device is None:
            return _new(cls, *args, **kwargs)
        place = self._simulation.resolve(device)
        made = _new(cls, *args, device="cpu" if self._simulation.is_device(place) else place, **kwargs)
        made.__dict__[ATTRIBUTE] = self._simulation.claim(place, "made by torch.UntypedStorage")
        return made

    def clone(self, original: Any, storage: Any) -> Any:
        claim: Claim | None = storage.__dict__.get(ATTRIBUTE)
        if claim is None or claim.place.type == "meta":
            return original(storage)
        copied = _new(type(storage), storage.nbytes()).copy_(storage)
        copied.__dict__[ATTRIBUTE] = claim
        return copied

    def to(self, _original: Any, storage: Any, *, device: Any, non_blocking: bool = False) -> Any:
        return self._moved(storage, self._simulation.resolve(device), "moved by .to")

    def cuda(self, _original: Any, storage: Any, device: Any = None, non_blocking: bool = False) -> Any:
        place = self._simulation.resolve(self._simulation.kind if device is None else device)
        return self._moved(storage, place, "moved by .cuda")

    def cpu(self, _original: Any, storage: Any) -> Any:
        return self._moved(storage, HOST, "moved by .cpu")

    def is_pinned(self, _original: Any, storage: Any, device: Any = None) -> bool:
        return PINNED in storage.__dict__

    def pin_memory(self, _original: Any, storage: Any, device: Any = None) -> Any:
        if self.place(storage) is not HOST:
            raise TypeError(f"cannot pin '{storage.type()}' only CPU memory can be pinned")
        if PINNED in storage.__dict__:
            return storage
        copied = self._copy_at(storage, HOST, "copied by .pin_memory")
        copied.__dict__[PINNED] = True
        return copied

    def _moved(self, storage: Any, place: torch.device, how: str) -> Any:
        return storage if place is self.place(storage) else self._copy_at(storage, place, how)

    def _copy_at(self, storage: Any, place: torch.device, how: str) -> Any:
        copied = _new(_Storage, storage.nbytes()).copy_(storage)
        copied.__dict__[ATTRIBUTE] = self._simulation.claim(place, how, storage.__dict__.get(ATTRIBUTE))
        return copied
