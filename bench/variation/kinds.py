"""All kinds of bugs, by name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from variation.plans import KINDS, Kind


def all_kinds() -> Mapping[str, Kind]:
    """The kinds that the modules beside this one define."""
    for module in ("kinds_batch", "kinds_modules"):
        importlib.import_module(f"variation.{module}")
    return KINDS
