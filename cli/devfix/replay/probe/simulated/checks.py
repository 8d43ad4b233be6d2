"""Which mixes of places CUDA operators refuse, and in which words.

Only operations whose arguments claim different places come here. What an operator checks is looked up once:

- *same*: its generated wrapper wants all of its positional tensors on one device, 0-dim tensors too;
- *iterator*: TensorIterator computes on the first device that is not the host and wants all there, but lets a 0-dim
  host tensor pass where the operator says so;
- *resizing*: its generated code compares `out` with the inputs;
- one that checks for itself has a rule in `selfchecks`;
- one without a CUDA kernel is made of other operators, which are then checked one by one.
"""

from __future__ import annotations

from typing import Any

import torch

from .calls import Call, Check, claimed_place, iterate, same
from .claims import HOST, Claim, claim_of
from .selfchecks import (
    BEFORE_THE_PARTS,
    CHECKS,
    MADE_OF_OTHERS,
    SCALARS_REFUSED,
    SCALARS_REFUSED_BEFORE,
    SCALARS_USED_UP,
)
from .state import Simulation

_COMPOSITES = (
    torch._C.DispatchKey.CompositeImplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional,
)


class Checks:
    """`table` is what `devfix.replay.device_checks` derived from this torch's `native_functions.yaml`."""

    def __init__(self, simulation: Simulation, table: dict[str, Any]) -> None:
        self._simulation = simulation
        self._wrappers: dict[str, str] = table["same"]
        self._iterating = frozenset(table["iterator"])
        self._resizing = frozenset(table["resizing"])
        self._own = frozenset(table["own"])
        self._plans: dict[Any, tuple[Check, bool]] = {}

    def check(self, func: Any, args: Any, kwargs: Any) -> tuple[Claim | None, bool]:
        """The claim that the results of `func` get when its arguments claim different places, and what is left to do.

        That is to check the operators that `func` is made of, where the second value is true.

        Raises:
            RuntimeError: CUDA would refuse them, in its words. `simulation.refused` are then the tensors to blame.
        """
        plan = self._plans.get(func)
        if plan is None:
            plan = self._plans[func] = self._plan(func, func.name())
        check, in_parts = plan
        call = Call(self._simulation, self._wrappers, func, args, kwargs)
        return check(call) or _first_on_device(call), in_parts

    def _plan(self, func: Any, name: str) -> tuple[Check, bool]:
        base = name.partition(".")[0]
        if name in BEFORE_THE_PARTS or base in BEFORE_THE_PARTS:
            return BEFORE_THE_PARTS.get(name) or BEFORE_THE_PARTS[base], True
        if base.startswith(MADE_OF_OTHERS):
            return _nothing, True
        if name in CHECKS or base in CHECKS:
            return CHECKS.get(name) or CHECKS[base], False
        if name in self._wrappers:
            return same, False
        if name in self._resizing:
            return _resize, False
        if name in self._iterating:
            return self._iteration(func, name), False
        if name in self._own:
            return _nothing, False
        if not name.startswith("aten::") and composite_key(func) is None:
            return self._unknown, False
        return _nothing, True

    def _iteration(self, func: Any, name: str) -> Check:
        refused = SCALARS_REFUSED.union(
            *(names for release, names in SCALARS_REFUSED_BEFORE.items() if self._simulation.version < release)
        )
        inputs = sum("Tensor" in str(parameter.type) and not parameter.is_out for parameter in func._schema.arguments)
        scalars: int | None = 1
        if name in SCALARS_USED_UP:
            scalars = 0
        elif inputs < 2 or name in refused:
            # Operators of one input have no `allow_cpu_scalars` (`build_unary_op` in TensorIterator.cpp).
            scalars = None
        return lambda call: iterate(call, scalars)

    def _unknown(self, call: Call) -> None:
        """An operator of another library, in C++: it may check, move, or read what is not there."""
        raise self._simulation.refuse(f"{call.func.name()} on tensors of different devices")


def composite_key(func: Any) -> Any:
    """The dispatch key of the kernel of `func` that calls other operators, None where it has none."""
    return next((key for key in _COMPOSITES if func.has_kernel_for_dispatch_key(key)), None)


def _resize(call: Call) -> None:
    """`resize_out` in torchgen/dest/register_dispatch_key.py: each output against what the operator computes from."""
    inputs = call.inputs()
    source = next((place for _, tensor in inputs if (place := claimed_place(tensor)) is not None), None)
    for named in call.outputs():
        place = claimed_place(named[1])
        if source is not None and place is not None and place is not source:
            call.refuse(f"Expected out tensor to have device {source}, but got {place} instead", named, inputs[0])


def _nothing(call: Call) -> None:
    """Nothing is checked."""


def _first_on_device(call: Call) -> Claim | None:
    claims = [claim_of(tensor) for _, tensor in (*call.outputs(), *call.inputs())]
    return next((claim for claim in claims if claim is not None and claim.place is not HOST), None)
