"""The parts of torch's Python surface that are patched, in the order in which they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .mode import ClaimMode
from .state import Simulation

Part = Callable[[Simulation, ClaimMode], None]

PARTS: Sequence[Part] = ()
