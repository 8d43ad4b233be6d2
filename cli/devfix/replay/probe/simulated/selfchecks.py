"""The rules of operators that check for themselves, with where in torch's sources each is from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checks import Check

CHECKS: dict[str, Check] = {}
COMPOSITE: tuple[str, ...] = ("aten::_foreach_",)
