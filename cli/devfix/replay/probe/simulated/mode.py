"""The dispatch mode below autograd: every operation's arguments are checked for their places and its results get one.

Below autograd every composite operator has been taken apart, and backward passes by as well: one check serves forward,
backward and the optimizer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .checks import Checks
from .claims import ATTRIBUTE, Claim, claim_of, holders
from .generators import drawing_apart
from .state import Simulation

_storage_of = torch.Tensor.untyped_storage
_Tensor = torch.Tensor
_DRAWS = torch.Tag.nondeterministic_seeded


class ClaimMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Enter it once in each thread that runs operations."""

    def __init__(self, simulation: Simulation, checks: Checks) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._simulation = simulation
        self._checks = checks

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Not to be wrapped for torch.compile, which nothing runs under here: importing it takes seconds."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        first, mixed = _common(args)
        if kwargs:
            first, mixed = _common(kwargs.values(), first, mixed)
        if mixed:
            first, in_parts = self._checks.check(func, args, kwargs or {})
            if in_parts:
                return self._in_parts(func, args, kwargs or {}, first)
        if self._simulation.generators and first is not None and _DRAWS in func.tags:
            with drawing_apart(self._simulation, first.place):
                result = func(*args, **(kwargs or {}))
        else:
            result = func(*args, **kwargs) if kwargs else func(*args)
        if first is not None:
            _claim_new(result, first)
        return result

    def _in_parts(self, func: Any, args: Any, kwargs: Any, claim: Claim | None) -> Any:
        """Run the operators that `func` is made of in this mode, so that each is checked on its own."""
        key = next((key for key in _COMPOSITES if func.has_kernel_for_dispatch_key(key)), None)
        if key is None:
            result = func(*args, **kwargs)
        else:
            with self:
                result = func._op_dk(key, *args, **kwargs)
        if claim is not None:
            _claim_new(result, claim)
        return result


_COMPOSITES = (
    torch._C.DispatchKey.CompositeImplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional,
)


def _common(values: Any, first: Claim | None = None, mixed: bool = False) -> tuple[Claim | None, bool]:
    """The first claim among the tensors of `values`, and whether another one has a different place."""
    for value in values:
        if isinstance(value, _Tensor):
            try:
                claim = _storage_of(value).__dict__.get(ATTRIBUTE)
            except (NotImplementedError, RuntimeError):
                claim = claim_of(value)
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
        try:
            _storage_of(result).__dict__.setdefault(ATTRIBUTE, claim)
        except (NotImplementedError, RuntimeError):
            for holder in holders(result):
                _claim_new(holder, claim)
    elif isinstance(result, (list, tuple)):
        for value in result:
            _claim_new(value, claim)
