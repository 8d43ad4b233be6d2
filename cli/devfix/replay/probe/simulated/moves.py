"""Moving tensors: `.to`, `.cuda`, `.cpu`, `.type`, `.type_as` and pinned copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import legacy_types
from .claims import HOST, claim_of, is_pinned, pin, place_of, set_claim
from .mode import ClaimMode
from .patching import wrap, wrap_method
from .state import Simulation

_to: Callable[..., Any] = torch._C.TensorBase.to
_cpu: Callable[..., Any] = torch._C.TensorBase.cpu
_clone: Callable[..., Any] = torch._C.TensorBase.clone
_DEVICES = (torch.device, str, int)


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch the methods that move."""
    moves = Moves(simulation)
    wrap_method("to", moves.to)
    wrap_method("cuda", moves.cuda)
    wrap_method("cpu", moves.cpu)
    wrap_method("type", moves.type)
    wrap_method("type_as", moves.type_as)
    wrap_method("pin_memory", moves.pin_memory)
    wrap_method("is_pinned", moves.is_pinned)
    wrap(torch._C._nn, "_parse_to", moves.parse_to)


class Moves:
    """The methods take the original as their first argument; see `patching.wrap_method`."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def move(self, tensor: Any, place: torch.device, how: str, **options: Any) -> Any:
        """A copy of `tensor` at `place` (interned), through which gradients move back.

        `options` are those of `Tensor.to` other than the device: `dtype`, `memory_format`.
        """
        source = claim_of(tensor)
        options.setdefault("dtype", tensor.dtype)
        moved = _to(tensor, "meta" if place.type == "meta" else "cpu", copy=True, **options)
        set_claim(moved, self._simulation.claim(place, how, source))
        if moved.grad_fn is not None:
            self._move_gradients_back(moved.grad_fn, place_of(tensor), how)
        return moved

    def _move_gradients_back(self, node: Any, place: torch.device, how: str) -> None:
        def back(gradients: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(
                gradient
                if gradient is None or place_of(gradient) is place
                else self.move(gradient, place, f"moved back by the backward of {how.rpartition(' ')[2]}")
                for gradient in gradients
            )

        node.register_prehook(back)

    def to(self, original: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], torch.Tensor):
            return self._to_other(original, tensor, *args, **kwargs)
        if "other" in kwargs:
            return self._to_other(original, tensor, kwargs.pop("other"), *args, **kwargs)
        device: Any
        if args and isinstance(args[0], _DEVICES):
            device, args = args[0], args[1:]
        elif args and args[0] is None:
            device, args = kwargs.pop("device", None), args[1:]
        elif kwargs.get("device") is not None:
            device = kwargs.pop("device")
        else:
            return original(tensor, *args, **kwargs)
        if device is None:
            return original(tensor, None, *args, **kwargs)
        place = self._simulation.resolve(device)
        return self._to_place(original, tensor, place, ("dtype", "non_blocking", "copy"), args, kwargs)

    def _to_other(self, original: Any, tensor: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs["dtype"] = other.dtype
        return self._to_place(original, tensor, place_of(other), ("non_blocking", "copy"), args, kwargs)

    def _to_place(
        self,
        original: Any,
        tensor: Any,
        place: torch.device,
        names: tuple[str, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        options = {**dict(zip(names, args)), **kwargs}
        if len(args) > len(names) or len(options) < len(args) + len(kwargs) or place.type not in self._here:
            return original(tensor, place.type, *args, **kwargs)  # torch's own error
        if options.get("dtype") is None:
            options["dtype"] = tensor.dtype
        if place is not place_of(tensor):
            non_blocking = options.pop("non_blocking", False)
            options.pop("copy", None)
            moved = self.move(tensor, place, "moved by .to", **options)
            return self._arrived(moved, place, non_blocking)
        if tensor.layout is torch.strided or options.get("copy") or options["dtype"] is not tensor.dtype:
            return original(tensor, "meta" if place.type == "meta" else "cpu", **options)
        return tensor

    @property
    def _here(self) -> tuple[str, ...]:
        return (self._simulation.kind, "cpu", "meta")

    def _arrived(self, moved: Any, place: torch.device, non_blocking: bool) -> Any:
        """`moved`; the host copy that a non-blocking move makes lies in pinned memory."""
        if place is HOST and non_blocking:
            pin(moved)
        return moved

    def cuda(
        self,
        _original: Any,
        tensor: Any,
        device: Any = None,
        non_blocking: bool = False,
        memory_format: Any = torch.preserve_format,
    ) -> Any:
        simulation = self._simulation
        place = simulation.resolve(simulation.kind if device is None else device)
        if not simulation.is_device(place):
            raise RuntimeError("Invalid device, must be cuda device")
        if place is place_of(tensor) and memory_format is torch.preserve_format:
            return tensor
        return self.move(tensor, place, "moved by .cuda", memory_format=memory_format)

    def cpu(self, original: Any, tensor: Any, memory_format: Any = torch.preserve_format) -> Any:
        claim = claim_of(tensor)
        if claim is None or claim.place is HOST:
            return original(tensor, memory_format=memory_format)
        return self.move(tensor, HOST, "moved by .cpu", memory_format=memory_format)

    def type(self, original: Any, tensor: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if dtype is None:
            return legacy_types.name_of(tensor, self._simulation)
        wanted = legacy_types.parse(dtype, self._simulation)
        if dtype is torch.Tensor or (isinstance(dtype, str) and dtype == "torch.Tensor"):
            wanted = torch.get_default_dtype(), self._simulation.default_kind
        if wanted is None:
            return original(tensor, dtype, *args, **kwargs)
        scalar, kind = wanted
        here = place_of(tensor)
        place = here if here.type == kind else self._simulation.resolve(kind)
        if place is here:
            return original(tensor, scalar, *args, **kwargs)
        return self.move(tensor, place, "moved by .type", dtype=scalar)

    def type_as(self, original: Any, tensor: Any, other: Any) -> Any:
        place = place_of(other)
        if place is place_of(tensor):
            return original(tensor, other)
        return self.move(tensor, place, "moved by .type_as", dtype=other.dtype)

    def pin_memory(self, _original: Any, tensor: Any, device: Any = None) -> Any:
        if place_of(tensor) is not HOST and self._simulation.policy.shares_with_forks:
            return tensor
        if place_of(tensor) is not HOST:
            name = legacy_types.name_of(tensor, self._simulation)
            raise RuntimeError(f"cannot pin '{name}' only dense CPU tensors can be pinned")
        if is_pinned(tensor):
            return tensor
        pinned = _clone(tensor)
        set_claim(pinned, self._simulation.claim(HOST, "copied by .pin_memory", claim_of(tensor)))
        pin(pinned)
        return pinned

    def is_pinned(self, _original: Any, tensor: Any, device: Any = None) -> bool:
        return place_of(tensor) is HOST and tensor.layout is torch.strided and is_pinned(tensor)

    def parse_to(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """`Module.to`'s reading of its arguments, with ordinals of devices where torch sees no accelerator."""
        if args and isinstance(args[0], int):
            args = (torch.device(self._simulation.kind, args[0]), *args[1:])
        if isinstance(kwargs.get("device"), int):
            kwargs["device"] = torch.device(self._simulation.kind, kwargs["device"])
        if args and isinstance(args[0], torch.Tensor):
            place = place_of(args[0])
            _, *rest = original(*args, **kwargs)
            return (place, *rest)
        return original(*args, **kwargs)
