"""What CUDA operators say of tensors on different devices, in the words of each torch release."""

from __future__ import annotations

from typing import Any

import torch

_LEGACY_NAMES = {
    torch.float32: "FloatTensor",
    torch.float64: "DoubleTensor",
    torch.float16: "HalfTensor",
    torch.bfloat16: "BFloat16Tensor",
    torch.int64: "LongTensor",
    torch.int32: "IntTensor",
    torch.int16: "ShortTensor",
    torch.int8: "CharTensor",
    torch.uint8: "ByteTensor",
    torch.bool: "BoolTensor",
    torch.complex64: "ComplexFloatTensor",
    torch.complex128: "ComplexDoubleTensor",
}
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
        f"Expected all tensors to be on the same device, but got {argument} is on {place}, different from other tensors "
        f"on {common} (when checking argument in method {method})"
    )


def iterator(common: torch.device, place: torch.device) -> str:
    """TensorIterator computes at `common` and met an operand at `place` (`compute_types` in TensorIterator.cpp)."""
    return f"Expected all tensors to be on the same device, but found at least two devices, {common} and {place}!"


TOO_MANY_SCALARS = "Trying to pass too many CPU scalars to non-CPU kernel!"
"""TensorIterator met a second 0-dim host tensor (`compute_types` in TensorIterator.cpp)."""


def unexplained(condition: str) -> str:
    """A `TORCH_CHECK` without a message of its own failed (`torchCheckMsgImpl` in c10/util/Exception.h)."""
    return (
        f"Expected {condition} to be true, but got false.  (Could this error message be improved?  If so, please report "
        "an enhancement request to PyTorch.)"
    )


def legacy_type(tensor: Any, place: torch.device) -> str:
    """`torch.cuda.FloatTensor`: what `TensorBase::toString` calls a `tensor` at `place`."""
    name = _LEGACY_NAMES.get(tensor.dtype, str(tensor.dtype))
    return f"torch.{name}" if place.type == "cpu" else f"torch.{place.type}.{name}"
