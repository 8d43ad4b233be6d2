"""What modules that are there want to be given: the form of the input of their first layer."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from torch import nn

from .shapes import shape_of
from .uses import Function, names_in, origins
from .values import LONG, Tensor

_RANKS: tuple[tuple[int, tuple[type[nn.Module], ...]], ...] = (
    (5, (nn.Conv3d, nn.ConvTranspose3d, nn.BatchNorm3d)),
    (4, (nn.Conv2d, nn.ConvTranspose2d, nn.BatchNorm2d)),
    (3, (nn.Conv1d, nn.ConvTranspose1d)),
)


def wanted(function: Function, names: Mapping[str, Any]) -> dict[str, Tensor]:
    """By parameter the input of the module that is called with it, or with what is made of it."""
    found: dict[str, Tensor] = {}
    known = origins(function)
    for call in (one for one in ast.walk(function) if isinstance(one, ast.Call) and one.args):
        module = _value(call.func, names)
        form = _form(module) if isinstance(module, nn.Module) else None
        if form is not None:
            read = list(names_in(call.args[0]))
            for name in dict.fromkeys([*read, *(one for part in read for one in sorted(known.get(part, ())))]):
                found.setdefault(name, form)
    return found


def _form(module: nn.Module) -> Tensor | None:
    return next(_forms(module), None)


def _forms(module: nn.Module) -> Iterator[Tensor]:
    for one in module.modules():
        if isinstance(one, nn.Embedding):
            yield Tensor((2, 8), LONG, max(1, min(2, one.num_embeddings)))
        elif isinstance(one, nn.Linear):
            yield Tensor((2, one.in_features))
        elif isinstance(one, nn.RNNBase):
            yield Tensor((2, 8, one.input_size))
        for rank, kinds in _RANKS:
            if isinstance(one, kinds):
                channels: Any = getattr(one, "in_channels", getattr(one, "num_features", 1))
                shape = shape_of(rank)
                yield Tensor((shape[0], channels, *shape[2:]))


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """What a name or an attribute of what has one stands for; None for any other expression."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, names)
        own = getattr(owner, "__dict__", {})
        parts = {**own, **own.get("_modules", {})} if isinstance(own, dict) else {}
        return parts.get(node.attr)
    return None
