"""The default device: `with torch.device(…)`, `torch.set_default_device`, `torch.set_default_tensor_type`.

A `DeviceContext` adds `device=` to the factories that it finds by identity in `torch.utils._device`; from there on the
patched factory does the rest, so torch's own code needs no change. It only must look for the factories anew.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _device

from . import legacy_types
from .mode import ClaimMode
from .patching import wrap
from .state import Simulation


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch what sets or tells the default. Comes after the factories."""
    _device._device_constructors.cache_clear()

    def set_default_tensor_type(original: Any, wanted: Any) -> None:
        parsed = legacy_types.parse(wanted, simulation)
        if parsed is None:
            original(wanted)
            return
        scalar, kind = parsed
        torch.set_default_dtype(scalar)
        simulation.default_kind = kind

    def default_device(_original: Any) -> str:
        return simulation.default_kind

    wrap(torch, "set_default_tensor_type", set_default_tensor_type)
    wrap(torch._C, "_get_default_device", default_device)
