"""What a probe is: a short call, and what CUDA is known to answer to it.

A probe is a function of a module in `groups/` with one of two decorators: `@passes(source)` or
`@raises(error, message, source)`. Its own assertions say what else holds where it passes. The source names where the
expectation comes from: a documentation page, a function of torch's C++ or Python sources, or a recording.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

NEW_WORDING = (2, 8)
"""The release from which the generated wrappers name the argument and its place."""

TORCH = tuple(int(part) for part in torch.__version__.split(".")[:2])

ORDINAL = "AcceleratorError" if TORCH >= (2, 8) else "RuntimeError"
"""The type of an error that the driver reports, as of an ordinal that is not there."""

ITERATOR = "TensorIteratorBase::compute_types, aten/src/ATen/TensorIterator.cpp"
WRAPPER = "c10::impl::common_device_check_failure, aten/src/ATen/core/adaption.cpp, by torchgen's device checks"


@dataclass(frozen=True, slots=True)
class Probe:
    """`error` is the name of the exception's type, None where the call passes; `message` its first line.

    `devices` is how many devices it takes. `alone` asks for a process of its own.
    """

    group: str
    name: str
    call: Callable[[], object]
    source: str
    error: str | None = None
    message: str | None = None
    devices: int = 1
    alone: bool = False

    @property
    def title(self) -> str:
        return f"{self.group}: {self.name.replace('_', ' ')}"

    @property
    def expected(self) -> str:
        return "passes" if self.error is None else f"{self.error}: {self.message}"


PROBES: list[Probe] = []


def passes(
    source: str, *, devices: int = 1, alone: bool = False
) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Declare a probe that CUDA lets run."""
    return _declare(source, None, None, devices, alone)


def raises(
    error: str, message: str, source: str, *, devices: int = 1, alone: bool = False
) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Declare a probe that fails, with the type of its exception and the first line of its message."""
    return _declare(source, error, message, devices, alone)


def _declare(
    source: str, error: str | None, message: str | None, devices: int, alone: bool
) -> Callable[[Callable[[], object]], Callable[[], object]]:
    def decorate(call: Callable[[], object]) -> Callable[[], object]:
        group = call.__module__.rpartition(".")[2]
        PROBES.append(Probe(group, call.__name__, call, source, error, message, devices, alone))
        return call

    return decorate


def two_devices(first: str = "cuda:0", other: str = "cpu") -> str:
    """What TensorIterator says; `first` is the first place of its operands that is not the host."""
    return f"Expected all tensors to be on the same device, but found at least two devices, {first} and {other}!"


def misplaced(argument: str, wrapper: str, place: str = "cpu", others: str = "cuda:0") -> str:
    """What the generated wrapper says of the first `argument` whose `place` is not that of those before it."""
    if TORCH >= NEW_WORDING:
        return (
            f"Expected all tensors to be on the same device, but got {argument} is on {place}, different from other "
            f"tensors on {others} (when checking argument in method wrapper_CUDA_{wrapper})"
        )
    return (
        f"Expected all tensors to be on the same device, but found at least two devices, {others} and {place}! "
        f"(when checking argument for argument {argument} in method wrapper_CUDA_{wrapper})"
    )


def recorded(operator: str) -> str:
    """The source of an expectation that stands in the recording of CUDA builds beside the benchmark of the kernels."""
    return f"the recording of CUDA builds 2.10 and 2.15: aten::{operator}"
