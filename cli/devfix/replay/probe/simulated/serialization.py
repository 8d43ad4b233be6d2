"""Checkpoints: what `torch.load` restores claims the place that its location tag, or `map_location`, names.

Location tags, their restoring and the errors of places that do not exist are torch's own: they ask a storage for its
device and move it, and both are patched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .claims import ATTRIBUTE, HOST, Claim
from .mode import ClaimMode
from .patching import wrap
from .state import Simulation

HOW = "loaded by torch.load"


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Have loaded storages claim where they are."""

    def get_restore_location(original: Callable[..., Any], map_location: Any) -> Callable[..., Any]:
        restore = original(map_location)

        def restore_location(storage: Any, location: str) -> Any:
            restored = restore(storage, location)
            _claim_loaded(restored, simulation)
            return restored

        return restore_location

    wrap(torch.serialization, "_get_restore_location", get_restore_location)


def _claim_loaded(restored: Any, simulation: Simulation) -> None:
    """`restored` is a storage, untyped or, from a user's `map_location`, typed."""
    storage = getattr(restored, "_untyped_storage", restored)
    if storage.device.type == "meta":
        return
    moved: Claim | None = storage.__dict__.get(ATTRIBUTE)
    place = HOST if moved is None else moved.place
    if place is HOST:
        place = simulation.policy.birthplace(place)
    storage.__dict__[ATTRIBUTE] = simulation.claim(place, HOW)
