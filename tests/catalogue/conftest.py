"""What becomes of the calls of all rows on the simulated accelerator, observed in one process."""

from pathlib import Path
from typing import Any

import pytest

from ..replay.simulated.conftest import _zygote
from .arguments import orders

__all__ = ["_zygote"]

_OBSERVING = Path(__file__).with_name("observing.py").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def observations(_zygote: Any) -> dict[str, dict[str, Any]]:
    """By row: a function's qualified name, a method's with a dot before it."""
    result = _zygote.run(f"ORDERS = {orders()!r}\n{_OBSERVING}", 1, 120)
    assert not result.error_type, result.printed
    values: dict[str, dict[str, Any]] = result.values
    return values
