"""Where values live of which the script says nothing, and what goes on although CUDA refuses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from .claims import Claim


class PlacementPolicy:
    """That of a script: what it does not place is where torch puts it, and nothing is excused.

    `shares_with_forks` says that device tensors can be used in forked processes, and pinned: nobody moves batches.
    """

    shares_with_forks = False

    def birthplace(self, place: torch.device) -> torch.device:
        """Where a value comes to be that torch makes at `place` because nobody says where."""
        return place

    def claim_type(self, place: torch.device) -> type[Claim]:
        """The class of a claim on `place` that is made now."""
        from .claims import Claim

        return Claim

    def excuses(self, arguments: Sequence[tuple[str, Any]]) -> bool:
        """Whether an operation goes on that refuses its `arguments`."""
        return False

    def draws_anywhere(self) -> bool:
        """Whether a generator that is made now draws at any place."""
        return False

    def reads_from_host(self) -> bool:
        """Whether device tensors can be read as if they were on the host."""
        return False
