"""The simulated accelerator of a run: installed once torch is there, or by the process that the run was forked from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .simulated.state import Simulation


def simulation(options: dict[str, Any]) -> Simulation:
    """The simulation with so many `devices` and with the device checks of the file `checks`, installed.

    What it is to tell, and of whom, is set by who asks.
    """
    # Only now: these modules import torch.
    from . import simulated
    from .simulated.state import Simulation

    if simulated.active is None:
        made = Simulation(devices=options["devices"])
        simulated.install(made, json.loads(Path(options["checks"]).read_text(encoding="utf-8")))
        return made
    return simulated.active
