"""Running strangers' code: what a confined command may touch and use, and bubblewrap, which sees to it."""

from devfix.replay.confinement.bubblewrap import Bubblewrap, find_confinement
from devfix.replay.confinement.protocol import Allowance, Confined, Confinement, Reach

__all__ = ["Allowance", "Bubblewrap", "Confined", "Confinement", "Reach", "find_confinement"]
