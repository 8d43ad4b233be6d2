"""The search in the place of a script."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from ..journal import Journal
from .driver import Target
from .finding import search


def run(asked: dict[str, Any], root: str, journal: Journal) -> None:
    """Search for the driver of what is asked for, and tell the journal of it."""
    given: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in asked.items()}
    target = Target(**given)
    search(target, Path(root), lambda found: journal.write("driver", **dataclasses.asdict(found)))
