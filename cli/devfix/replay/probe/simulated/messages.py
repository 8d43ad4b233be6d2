"""What CUDA operators say of tensors on different devices, in the words of each torch release."""

from __future__ import annotations

from typing import Any

import torch

SCALAR_TYPES = {
    torch.float32: "Float",
    torch.float64: "Double",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.bool: "Bool",
    torch.complex64: "ComplexFloat",
    torch.complex128: "ComplexDouble",
}
"""What C++ calls the types (c10/core/ScalarType.h)."""
_NEW_WORDING = (2, 8)


def wrapper(version: tuple[int, int], method: str, argument: str, place: torch.device, common: torch.device) -> str:
    """The generated wrapper `method` met `argument` at `place` after tensors at `common`.

    Source: `common_device_check_failure` in aten/src/ATen/core/op_registration/adaption.cpp.
    """
    if version < _NEW_WORDING:
        return (
            f"Expected all tensors to be on the same device, but found at least two devices, {common} and {place}! "
            f"(when checking argument for argument {argument} in method {method})"
        )
    return (
        f"Expected all tensors to be on the same device, but got {argument} is on {place}, different from other "
        f"tensors on {common} (when checking argument in method {method})"
    )


def iterator(common: torch.device, place: torch.device) -> str:
    """TensorIterator computes at `common` and met an operand at `place` (`compute_types` in TensorIterator.cpp)."""
    return f"Expected all tensors to be on the same device, but found at least two devices, {common} and {place}!"


TOO_MANY_SCALARS = "Trying to pass too many CPU scalars to non-CPU kernel!"
"""TensorIterator met a second 0-dim host tensor (`compute_types` in TensorIterator.cpp)."""


def unexplained(condition: str) -> str:
    """A `TORCH_CHECK` without a message of its own failed (`torchCheckMsgImpl` in c10/util/Exception.h)."""
    return (
        f"Expected {condition} to be true, but got false.  (Could this error message be improved?  If so, please "
        "report an enhancement request to PyTorch.)"
    )


def legacy_type(tensor: Any, place: torch.device) -> str:
    """`torch.cuda.FloatTensor`: what `TensorBase::toString` calls a `tensor` at `place`."""
    name = SCALAR_TYPES.get(tensor.dtype, str(tensor.dtype))
    return f"torch.{name}Tensor" if place.type == "cpu" else f"torch.{place.type}.{name}Tensor"
