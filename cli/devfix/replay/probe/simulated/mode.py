"""The dispatch mode below autograd: every operation's arguments are checked for their places and its results get one.

Below autograd every composite operator has been taken apart, and backward passes by as well: one check serves forward,
backward and the optimizer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .checks import Checks
from .claims import ATTRIBUTE, Claim
from .state import Simulation

_storage_of = torch.Tensor.untyped_storage
_Tensor = torch.Tensor


class ClaimMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Enter it once in each thread that runs operations."""

    def __init__(self, simulation: Simulation, checks: Checks) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._simulation = simulation
        self._checks = checks

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        first, mixed = _common(args)
        if kwargs:
            first, mixed = _common(kwargs.values(), first, mixed)
        if mixed:
            first = self._checks.check(func, args, kwargs or {})
            if first is None:
                return self._in_pieces(func, args, kwargs or {})
        result = func(*args, **kwargs) if kwargs else func(*args)
        if first is not None:
            _claim_new(result, first)
        return result

    def _in_pieces(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run the operators that `func` is made of in this mode, so that each is checked on its own."""
        key = next((key for key in _COMPOSITES if func.has_kernel_for_dispatch_key(key)), None)
        if key is None:
            return func(*args, **kwargs)
        with self:  # type: ignore[no-untyped-call]
            return func._op_dk(key, *args, **kwargs)


_COMPOSITES = (
    torch._C.DispatchKey.CompositeImplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional,
)


def _common(values: Any, first: Claim | None = None, mixed: bool = False) -> tuple[Claim | None, bool]:
    """The first claim among the tensors of `values`, and whether another one has a different place."""
    for value in values:
        if isinstance(value, _Tensor):
            claim = _storage_of(value).__dict__.get(ATTRIBUTE)
            if claim is None:
                continue
            if first is None:
                first = claim
            elif claim.place is not first.place:
                mixed = True
        elif type(value) is list or type(value) is tuple:
            first, mixed = _common(value, first, mixed)
    return first, mixed


def _claim_new(result: Any, claim: Claim) -> None:
    """Let the tensors of `result` that claim nothing yet claim `claim`."""
    if isinstance(result, _Tensor):
        _storage_of(result).__dict__.setdefault(ATTRIBUTE, claim)
    elif isinstance(result, (list, tuple)):
        for value in result:
            _claim_new(value, claim)
