"""Names of the host among the parameters and fixtures of tests, which stand for the device there."""

from __future__ import annotations

import sys
from typing import Any


def renamed(value: Any, kind: str) -> Any:
    """The device of type `kind` where `value` is the host, by name or as a `torch.device`; else `value` itself."""
    torch = sys.modules.get("torch")
    if isinstance(value, str):
        return kind if value == "cpu" else value
    if torch is not None and isinstance(value, torch.device):
        return torch.device(kind, 0) if value.type == "cpu" else value
    return value
