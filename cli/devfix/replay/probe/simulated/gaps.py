"""Errors that tell of the simulation's own limits: C++ was asked for a device, or for what only a CUDA build has."""

from __future__ import annotations

import re

_LIMITS = re.compile(
    r"not linked with support for cuda devices"
    r"|Torch not compiled with CUDA enabled"
    r"|without ATen_cuda library"
    r"|with arguments from the '(Sparse|Quantized|SparseCsr|Nested\w*)?CUDA' backend"
    r"|module 'torch\._C[\w.]*' has no attribute '_?(cuda|cudnn|nccl|nvtx)"
    r"|Tried to instantiate dummy base class"
    r"|There was no rule registered for HigherOrderOperator",
    re.IGNORECASE,
)


def gap(error: BaseException) -> str | None:
    """What was asked for that is not simulated, if that is why `error` was raised; None if it is the script's own."""
    text = str(error)
    return text.partition("\n")[0].partition(". ")[0] if _LIMITS.search(text) else None
