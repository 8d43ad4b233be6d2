"""A simulated accelerator: values computed on the CPU, every tensor carrying the place that it claims.

It runs in the script's interpreter, is pure Python, and changes only what Python can change: see `claims` for where the
place is kept, `mode` for who checks it, and the other modules for the surface of torch that speaks of devices.
"""

from __future__ import annotations

from typing import Any

from .checks import Checks
from .mode import ClaimMode
from .state import Simulation

active: Simulation | None = None
"""The simulation of this process, for what looks at it after a crash."""


def install(simulation: Simulation, table: dict[str, Any]) -> ClaimMode:
    """Simulate from now on, in this process and all of its threads."""
    from . import surface

    global active
    active = simulation
    mode = ClaimMode(simulation, Checks(simulation, table))
    for part in surface.PARTS:
        part(simulation, mode)
    mode.__enter__()  # type: ignore[no-untyped-call]
    return mode
