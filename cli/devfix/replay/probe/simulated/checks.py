"""Which mixes of places CUDA operators refuse, and in which words."""

from __future__ import annotations

from typing import Any

from .claims import Claim
from .state import Simulation


class Checks:
    """`table` is what `devfix.replay.device_checks` derived from this torch's `native_functions.yaml`."""

    def __init__(self, simulation: Simulation, table: dict[str, Any]) -> None:
        self._simulation = simulation
        self._table = table

    def check(self, func: Any, args: Any, kwargs: Any) -> Claim | None:
        """The claim that the results of `func` get when its arguments claim different places.

        Raises:
            RuntimeError: CUDA would refuse them, in its words.
        """
        raise self._simulation.refuse(f"{func} on tensors of different devices")
