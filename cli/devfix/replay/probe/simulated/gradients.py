"""Gradients of another device: given to `backward`, or returned by a custom function.

ATen's `validate_outputs` compares each gradient with the tensor that it belongs to; a tensor without dimensions is
moved there, any other is refused.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Iterator
from typing import Any

import torch

from .claims import adopt, claim_of, place_of
from .messages import legacy_type
from .mode import ClaimMode
from .moves import Moves
from .patching import wrap, wrap_method
from .state import Simulation

_Function: Any = torch.autograd.Function


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch what makes the first gradients, and `torch.autograd.Function.apply`."""
    moves = Moves(simulation)

    def valid(gradient: Any, place: torch.device, index: int, text: str) -> Any:
        if gradient is None or claim_of(gradient) is None or place_of(gradient) is place:
            return gradient
        if gradient.dim() == 0:
            return moves.move(gradient, place, "moved by backward")
        raise RuntimeError(
            f"{text}invalid gradient at index {index} - expected device {place} but got {place_of(gradient)}"
        )

    def make_gradients(original: Any, outputs: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(outputs, *args, **kwargs)
        return tuple(
            valid(gradient, place_of(output), index, "") if isinstance(output, torch.Tensor) else gradient
            for index, output, gradient in zip(itertools.count(), outputs, made)
        )

    # A classmethod; since torch 2.15 one of C, which has no `__func__`.
    original_apply = inspect.getattr_static(_Function, "apply")

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        result = original_apply.__get__(None, cls)(*args, **kwargs)
        outputs = result if isinstance(result, tuple) else (result,)
        node = next((output.grad_fn for output in outputs if isinstance(output, torch.Tensor) and output.grad_fn), None)
        if node is not None and type(node).__name__ == f"{cls.__name__}Backward":
            _validate(node, [place_of(value) for value in args if isinstance(value, torch.Tensor)])
        return result

    def _validate(node: Any, places: list[torch.device]) -> None:
        text = f"Function {type(node).__name__} returned an "

        def validated(gradients: Any, _of_outputs: Any) -> Any:
            return tuple(
                valid(gradient, place, index, text)
                for index, gradient, place in zip(itertools.count(), gradients, places)
            )

        node.register_hook(validated)

    def register_hook(original: Any, tensor: Any, hook: Any, *args: Any) -> Any:
        def checked(gradient: Any) -> Any:
            changed = hook(gradient)
            _check_hook(hook, gradient, changed)
            return changed

        return original(tensor, functools.wraps(hook, updated=())(checked) if callable(hook) else hook, *args)

    wrap(torch.autograd, "grad", _gradients)
    wrap_method("register_hook", register_hook)
    wrap(torch.autograd, "_make_grads", make_gradients)
    _Function.apply = classmethod(apply)


def _gradients(original: Any, outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """`torch.autograd.grad`: zeros, where nothing depends on an input, are where that is."""
    if isinstance(inputs, Iterator):  # `model.parameters()`, which torch reads to its end
        inputs = tuple(inputs)
    found = original(outputs, inputs, *args, **kwargs)
    for gradient, tensor in zip(found, [inputs] if isinstance(inputs, torch.Tensor) else inputs):
        adopt([gradient], claim_of(tensor) if isinstance(tensor, torch.Tensor) else None)
    return found


def _check_hook(hook: Any, gradient: Any, changed: Any) -> None:
    """`check_variable_result` in torch/csrc/autograd/variable.cpp: a hook may not change the type of device."""
    if not isinstance(changed, torch.Tensor) or claim_of(changed) is None or claim_of(gradient) is None:
        return
    before, after = place_of(gradient), place_of(changed)
    if before.type != after.type:
        was, got = legacy_type(gradient, before), legacy_type(changed, after)
        name = getattr(hook, "__name__", "<unknown>")
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {was} got {got})")
