"""Replacing attributes of torch, so that what replaces them looks like what was there."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function, has_torch_function_unary

# The methods, by identity, that parameters without a shape yet have.
_nn_parameter: Any = torch.nn.parameter
_of_lazy_parameters: Any = _nn_parameter.UninitializedTensorMixin._allowed_methods
_modes_are_on: Callable[[], bool] = torch._C._is_torch_function_mode_enabled
_FIRST = ("input", "obj", "count")
"""What torch calls the first parameter of its functions on tensors, which may be passed by name like all others."""


def wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Replace the callable `owner.name` by one that calls `around(original, *args, **kwargs)`.

    Does nothing where this torch has no such attribute.
    """
    original = getattr(owner, name, None)
    if original is None:
        return

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return around(original, *args, **kwargs)

    setattr(owner, name, looking_like(wrapped, original, owner, name))


def wrap_method(name: str, around: Callable[..., Any]) -> None:
    """Replace the method `torch.Tensor.name` as `wrap` does.

    Like the original, it lets `__torch_function__` of a subclass or of a mode go first.
    """
    original = getattr(torch.Tensor, name, None)
    if original is None:
        return

    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        if has_torch_function_unary(self):
            return handle_torch_function(replacement, (self,), self, *args, **kwargs)
        return around(original, self, *args, **kwargs)

    replacement = looking_like(wrapped, original, torch.Tensor, name)
    setattr(torch.Tensor, name, replacement)
    if original in _of_lazy_parameters:
        _of_lazy_parameters.append(replacement)


def wrap_function(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Replace the function `owner.name` as `wrap` does, with `__torch_function__` of its arguments first.

    `around` gets the first argument by position even where it was passed by name.
    """
    original = getattr(owner, name, None)
    if original is None:
        return

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if not args:
            args = tuple(kwargs.pop(parameter) for parameter in _FIRST if parameter in kwargs)
        if _modes_are_on() or has_torch_function(args):
            return handle_torch_function(replacement, args, *args, **kwargs)
        return around(original, *args, **kwargs)

    replacement = looking_like(wrapped, original, owner, name)
    setattr(owner, name, replacement)


def replace_property(name: str, get: Callable[[Any], Any], set_to: Callable[[Any, Any], None] | None = None) -> None:
    """Replace the attribute `torch.Tensor.name` by a property, where this torch has it."""
    original = getattr(torch._C.TensorBase, name, None)
    if original is None:
        return

    def getter(self: Any) -> Any:
        if has_torch_function_unary(self):
            return handle_torch_function(replacement.__get__, (self,), self)
        return get(self)

    def setter(self: Any, value: Any) -> None:
        if has_torch_function_unary(self):
            handle_torch_function(replacement.__set__, (self,), self, value)
        elif set_to is None:
            original.__set__(self, value)
        else:
            set_to(self, value)

    def deleter(self: Any) -> None:
        if has_torch_function_unary(self):
            handle_torch_function(replacement.__delete__, (self,), self)
        else:
            original.__delete__(self)

    getter.__doc__ = original.__doc__
    replacement = property(getter, setter, deleter)
    setattr(torch.Tensor, name, replacement)


def looking_like(function: Any, original: Any, owner: Any, name: str) -> Any:
    """`function` with the name, documentation and module of `original`; it can be pickled if it is in a module."""
    functools.update_wrapper(function, original, updated=())
    if isinstance(owner, types.ModuleType):
        function.__module__, function.__qualname__ = owner.__name__, name
    return function
