"""Which mixes of places CUDA operators refuse, and in which words.

Only operations whose arguments claim different places come here. What each operator checks is looked up once:

- *same*: the generated wrapper wants all of its positional tensors on one device, 0-dim tensors too;
- *iterator*: TensorIterator computes on the first device that is not the host and wants all there, but lets one 0-dim
  host tensor pass where the operator says so;
- *resizing*: the generated code compares `out` with the inputs;
- an operator that checks for itself has its rule in `selfchecks`;
- one without a CUDA kernel is made of other operators, which are then checked one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import torch

from . import messages
from .claims import HOST, Claim, claim_of
from .state import Simulation

Named = tuple[str, Any]
"""A tensor and the name of the parameter that it was passed for."""


class Call:
    """A call of an operator: its arguments by name, and how to refuse them."""

    def __init__(self, simulation: Simulation, table: dict[str, Any], func: Any, args: Any, kwargs: Any) -> None:
        self.simulation = simulation
        self.func = func
        self.parameters = func._schema.arguments
        self.values = dict(zip((parameter.name for parameter in self.parameters), args), **kwargs)
        self._table = table

    def __getitem__(self, name: str) -> Any:
        """The argument called `name`, or its default."""
        if name in self.values:
            return self.values[name]
        return next(parameter.default_value for parameter in self.parameters if parameter.name == name)

    def place(self, name: str) -> torch.device | None:
        """Where the tensor called `name` is; None where it is absent or may be anywhere."""
        return place_of(self[name])

    def tensors(self, *, outputs: bool = True, keyword_only: bool = True) -> list[Named]:
        """The tensors among the arguments, those of lists too: outputs first, then in the order of the schema."""
        chosen = [parameter for parameter in self.parameters if outputs and parameter.is_out]
        chosen += [
            parameter
            for parameter in self.parameters
            if not parameter.is_out and (keyword_only or not parameter.kwarg_only)
        ]
        return [
            (parameter.name, tensor) for parameter in chosen for tensor in _tensors(self.values.get(parameter.name))
        ]

    def want_same(self, operator: str, tensors: Sequence[Named]) -> None:
        """What the generated wrapper of `operator` checks, of `tensors` in that order."""
        common: Named | None = None
        for named in tensors:
            place = place_of(named[1])
            if place is None:
                continue
            if common is None:
                common = named
            elif place is not place_of(common[1]):
                text = messages.wrapper(
                    self.simulation.version,
                    self._table["same"].get(operator, "wrapper_CUDA_" + operator.partition("::")[2]),
                    named[0],
                    place,
                    place_of(common[1]) or HOST,
                )
                self.refuse(text, named, common)

    def want_iterable(self, operands: Sequence[Named], outputs: int, scalars: int) -> None:
        """What TensorIterator checks of `operands`, of which the first `outputs` are outputs.

        So many 0-dim host tensors may pass among the inputs; -1 where even one is refused by the two-device message.
        """
        on_device = [named for named in operands if place_of(named[1]) not in (None, HOST)]
        if not on_device:
            return
        common = on_device[0]
        place_common = place_of(common[1]) or HOST
        passed = 0
        for position, named in enumerate(operands):
            place = place_of(named[1])
            if place is None or place is place_common:
                continue
            if scalars >= 0 and place is HOST and position >= outputs and named[1].dim() == 0:
                passed += 1
                if passed > scalars:
                    self.refuse(messages.TOO_MANY_SCALARS, named, common)
            else:
                self.refuse(messages.iterator(place_common, place), named, common)

    def refuse(self, text: str, *arguments: Named) -> NoReturn:
        """Raise the error of the operator, `text`, which these arguments are to blame for."""
        self.simulation.refused[:] = arguments
        raise RuntimeError(text)


Check = Callable[[Call], "Claim | None"]
"""Refuses the call, or gives the claim of its results: None where that is the first one of a device."""


class Checks:
    """`table` is what `devfix.replay.device_checks` derived from this torch's `native_functions.yaml`."""

    def __init__(self, simulation: Simulation, table: dict[str, Any]) -> None:
        from . import selfchecks

        self._simulation = simulation
        self._table = table
        self._iterating = frozenset(table["iterator"])
        self._resizing = frozenset(table["resizing"])
        self._own = frozenset(table["own"])
        self._selfchecks = selfchecks.CHECKS
        self._composite = selfchecks.COMPOSITE
        self._plans: dict[Any, Check | None] = {}

    def check(self, func: Any, args: Any, kwargs: Any) -> Claim | None:
        """The claim that the results of `func` get when its arguments claim different places.

        None where `func` is made of other operators and they have to be checked instead.

        Raises:
            RuntimeError: CUDA would refuse them, in its words. `simulation.refused` are then the tensors to blame.
        """
        if func not in self._plans:
            self._plans[func] = self._plan(func)
        plan = self._plans[func]
        if plan is None:
            return None
        call = Call(self._simulation, self._table, func, args, kwargs)
        return plan(call) or _first_on_device(call)

    def _plan(self, func: Any) -> Check | None:
        name = func.name()
        base = name.partition(".")[0]
        for key in (name, base):
            if key in self._selfchecks:
                return self._selfchecks[key]
        if base.startswith(self._composite):
            return None
        if name in self._table["same"]:
            return _same
        if name in self._resizing:
            return _resizing
        if name in self._iterating:
            return _iterator
        return _free if name in self._own else None


def _same(call: Call) -> None:
    call.want_same(call.func.name(), call.tensors(keyword_only=False))


def _iterator(call: Call) -> None:
    """The shapes come first: `compute_shape` runs before `compute_types`."""
    outputs = [(parameter.name, call[parameter.name]) for parameter in call.parameters if _is_written(parameter)]
    outputs = [named for named in outputs if isinstance(named[1], torch.Tensor)]
    inputs = call.tensors(outputs=False)
    in_place = bool(outputs) and not any(parameter.is_out for parameter in call.parameters)
    shape = broadcast([tensor.shape for _, tensor in inputs])
    if shape is None or (in_place and shape != tuple(outputs[0][1].shape)):
        return  # the kernel says so
    if len(inputs) < 2 or call.func.name() in _WITHOUT_SCALARS:
        scalars = -1
    else:
        scalars = 1
    call.want_iterable([*outputs, *inputs], len(outputs), scalars)


_WITHOUT_SCALARS = frozenset[str]()


def _resizing(call: Call) -> None:
    """`resize_out` in torchgen/dest/register_dispatch_key.py."""
    named = call.tensors(outputs=False)
    source = next((place for _, tensor in named if (place := place_of(tensor)) is not None), None)
    for parameter in call.parameters:
        if not parameter.is_out:
            continue
        place = call.place(parameter.name)
        if place is not None and source is not None and place is not source:
            text = f"Expected out tensor to have device {source}, but got {place} instead"
            call.refuse(text, (parameter.name, call[parameter.name]), named[0])


def _free(call: Call) -> None:
    """Nothing is checked."""


def place_of(value: Any) -> torch.device | None:
    """Where `value` claims to be; None where it is no tensor or may be anywhere."""
    if not isinstance(value, torch.Tensor):
        return None
    claim = claim_of(value)
    return None if claim is None else claim.place


def broadcast(shapes: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """The shape that tensors of `shapes` broadcast to, None where they do not."""
    sizes: list[int] = []
    for shape in shapes:
        sizes[:0] = [1] * (len(shape) - len(sizes))
        offset = len(sizes) - len(shape)
        for position, size in enumerate(shape, offset):
            if size == 1 or size == sizes[position]:
                continue
            if sizes[position] != 1:
                return None
            sizes[position] = size
    return tuple(sizes)


def _is_written(parameter: Any) -> bool:
    return parameter.alias_info is not None and parameter.alias_info.is_write


def _first_on_device(call: Call) -> Claim | None:
    claims = [claim_of(tensor) for _, tensor in call.tensors()]
    on_device = (claim for claim in claims if claim is not None and claim.place is not HOST)
    return next(on_device, None)


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, torch.Tensor):
                yield item
