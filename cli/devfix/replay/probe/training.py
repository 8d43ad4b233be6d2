"""What a training script computes: the loss of every `backward`, from the same seeds each time."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

LOSS_LIMIT = 100_000


def seed_numpy(seed: int) -> Callable[[ModuleType], None]:
    """An action for `AfterImport`: numpy's global generator starts from `seed`."""

    def act(_module: ModuleType) -> None:
        importlib.import_module("numpy.random").seed(seed)

    return act


def observe_torch(seed: int, report: Callable[[float | None], None]) -> Callable[[ModuleType], None]:
    """An action for `AfterImport`: torch starts from `seed`, and `report` gets the loss of every `backward`."""

    def act(torch: ModuleType) -> None:
        torch.manual_seed(seed)
        torch.Tensor.backward = _reporting(torch.Tensor.backward, report)

    return act


def _reporting(backward: Callable[..., Any], report: Callable[[float | None], None]) -> Callable[..., Any]:
    count, inside = 0, False

    @functools.wraps(backward)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal count, inside
        # A tensor subclass comes back through here by way of `__torch_function__`.
        if inside or count >= LOSS_LIMIT:
            return backward(self, *args, **kwargs)
        inside, count = True, count + 1
        try:
            report(_value(self))
            return backward(self, *args, **kwargs)
        finally:
            inside = False

    return wrapped


def _value(loss: Any) -> float | None:
    """The loss as a number, or None where reading it raises: then the script's own `backward` shall be what fails."""
    try:
        return float(loss.detach().sum())
    except Exception:
        return None
