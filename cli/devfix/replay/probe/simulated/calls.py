"""A call of an operator whose arguments claim different places, and the general ways to check it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import messages
from .claims import HOST, Claim, claim_of, tensors_in
from .state import Simulation

Named = tuple[str, Any]
"""The name of a parameter and a tensor that was passed for it."""


class Call:
    """A call of the operator `func`, its arguments by name."""

    def __init__(self, simulation: Simulation, wrappers: dict[str, str], func: Any, args: Any, kwargs: Any) -> None:
        self.func = func
        self.parameters = func._schema.arguments
        self.values: dict[str, Any] = dict(zip((parameter.name for parameter in self.parameters), args), **kwargs)
        self.simulation = simulation
        self._wrappers = wrappers

    def __getitem__(self, name: str) -> Any:
        """The argument called `name`, or its default."""
        if name in self.values:
            return self.values[name]
        return next(parameter.default_value for parameter in self.parameters if parameter.name == name)

    def place(self, name: str) -> torch.device | None:
        """Where the tensor called `name` is; None where it is absent or may be anywhere."""
        return claimed_place(self[name])

    def named(self, *names: str) -> list[Named]:
        """The tensors passed for these parameters, those of lists one by one."""
        return [(name, tensor) for name in names for tensor in tensors_in([self.values.get(name)])]

    def outputs(self) -> list[Named]:
        """The tensors that are passed for `out`."""
        return self.named(*(parameter.name for parameter in self.parameters if parameter.is_out))

    def inputs(self) -> list[Named]:
        """All other tensors, in the order of the schema."""
        return self.named(*(parameter.name for parameter in self.parameters if not parameter.is_out))

    def positional(self) -> list[Named]:
        """Those inputs that are not keyword-only."""
        parameters = (parameter for parameter in self.parameters if not parameter.is_out and not parameter.kwarg_only)
        return self.named(*(parameter.name for parameter in parameters))

    def want_same(self, operator: str, tensors: Sequence[Named]) -> None:
        """What the generated wrapper of `operator` checks, of `tensors` in that order."""
        common: Named | None = None
        for named in tensors:
            place = claimed_place(named[1])
            if place is None:
                continue
            if common is None:
                common = named
                continue
            first = claimed_place(common[1]) or HOST
            if place is not first:
                method = self._wrappers[operator]
                text = messages.wrapper(self.simulation.version, method, named[0], place, first)
                self.refuse(text, named, common)

    def want_iterable(self, operands: Sequence[Named], outputs: int, scalars: int | None) -> None:
        """What TensorIterator checks of `operands`, of which the first `outputs` are outputs.

        `scalars` 0-dim host tensors may pass among the inputs; None where the operator has no `allow_cpu_scalars`, so
        that they are refused like all others. Source: `compute_types` in TensorIterator.cpp.
        """
        on_device = [named for named in operands if claimed_place(named[1]) not in (None, HOST)]
        if not on_device:
            return
        common = claimed_place(on_device[0][1]) or HOST
        passed = 0
        for position, named in enumerate(operands):
            place = claimed_place(named[1])
            if place is None or place is common:
                continue
            if scalars is None or place is not HOST or position < outputs or named[1].dim() != 0:
                self.refuse(messages.iterator(common, place), named, on_device[0])
                continue
            passed += 1
            if passed > scalars:
                self.refuse(messages.TOO_MANY_SCALARS, named, on_device[0])

    def refuse(self, text: str, *arguments: Named) -> None:
        """Raise the error of the operator, `text`, which these arguments are to blame for, unless it is excused."""
        refuse(self.simulation, text, *arguments)


Check = Callable[[Call], "Claim | None"]
"""Refuses the call, or gives the claim of its results: None where that is the first one of a device."""


def same(call: Call) -> None:
    """The check in the generated wrapper: `gen_device_check` in torchgen/dest/register_dispatch_key.py."""
    call.want_same(call.func.name(), [*call.outputs(), *call.positional()])


def iterate(call: Call, scalars: int | None) -> None:
    """The check in TensorIterator, which compares the shapes first: those that do not fit are left to the kernel."""
    inputs = call.inputs()
    written = call.outputs()
    in_place = not written and _writes_to_self(call)
    shape = broadcast([tensor.shape for _, tensor in inputs])
    if shape is None or (in_place and shape != tuple(inputs[0][1].shape)):
        return
    if in_place:
        written = inputs[:1]
    call.want_iterable([*written, *inputs], len(written), scalars)


def refuse(simulation: Simulation, text: str, *arguments: Named) -> None:
    """Raise the error of torch, `text`, which these arguments are to blame for, unless that is excused."""
    if simulation.policy.excuses(arguments):
        return
    simulation.refused[:] = arguments
    raise RuntimeError(text)


def claimed_place(value: Any) -> torch.device | None:
    """Where `value` claims to be; None where it is no tensor or may be anywhere.

    `claims.place_of` says where a tensor that claims nothing really is instead.
    """
    if not isinstance(value, torch.Tensor):
        return None
    claim = claim_of(value)
    return None if claim is None else claim.place


def apart(first: Any, second: Any) -> bool:
    """Whether both are tensors that claim different places."""
    places = claimed_place(first), claimed_place(second)
    return None not in places and places[0] is not places[1]


def broadcast(shapes: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """The shape that tensors of `shapes` broadcast to, None where they do not."""
    sizes: list[int] = []
    for shape in shapes:
        sizes[:0] = [1] * (len(shape) - len(sizes))
        for position, size in enumerate(shape, len(sizes) - len(shape)):
            if size == 1 or size == sizes[position]:
                continue
            if sizes[position] != 1:
                return None
            sizes[position] = size
    return tuple(sizes)


def _writes_to_self(call: Call) -> bool:
    alias = call.parameters[0].alias_info
    return alias is not None and alias.is_write
