"""The legacy tensor types, `torch.FloatTensor` and `torch.cuda.FloatTensor`: names, conversions and constructors."""

from __future__ import annotations

from typing import Any

import torch

from .claims import place_of
from .state import Simulation

_SCALARS: dict[str, torch.dtype] = {
    "Float": torch.float32,
    "Double": torch.float64,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Bool": torch.bool,
    "ComplexFloat": torch.complex64,
    "ComplexDouble": torch.complex128,
}
_type_of = torch._C.TensorBase.type


def name_of(tensor: Any, simulation: Simulation) -> str:
    """`torch.cuda.FloatTensor` and the like, as `Tensor.type()` says."""
    name: str = _type_of(tensor)
    if simulation.is_device(place_of(tensor)):
        return name.replace("torch.", f"torch.{simulation.kind}.", 1)
    return name


def parse(wanted: Any, simulation: Simulation) -> tuple[torch.dtype, str] | None:
    """The dtype and the device type that a legacy type, or its name, stands for; None for anything else."""
    name = wanted if isinstance(wanted, str) else _name(wanted)
    if name is None or not name.startswith("torch.") or not name.endswith("Tensor"):
        return None
    namespace, _, kind = name[len("torch.") : -len("Tensor")].rpartition(".")
    if namespace not in ("", simulation.kind) or kind not in _SCALARS:
        return None
    return _SCALARS[kind], namespace or "cpu"


def _name(wanted: Any) -> str | None:
    if type(wanted).__name__ != "tensortype":
        return None
    return f"{wanted.__module__}.{wanted.__name__}"
