"""The parts of torch's Python surface that are patched, in the order in which they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import (
    accelerator,
    amp,
    compiling,
    composites,
    cuda,
    defaults,
    devices,
    distributed,
    factories,
    forks,
    fourier,
    fused,
    generators,
    gradients,
    grouping,
    host_autocast,
    legacy_types,
    loading,
    moves,
    numpy_bridge,
    parallel,
    profiling,
    programs,
    scripting,
    seeds,
    sequences,
    serialization,
    sharing,
    storages,
    tensors,
    threads,
)
from .mode import ClaimMode
from .state import Simulation

Part = Callable[[Simulation, ClaimMode], None]

PARTS: Sequence[Part] = (
    tensors.install,
    moves.install,
    factories.install,
    generators.install,
    numpy_bridge.install,
    storages.install,
    legacy_types.install,
    defaults.install,
    devices.install,
    sequences.install,
    fused.install,
    gradients.install,
    composites.install,
    fourier.install,
    scripting.install,
    cuda.install,
    accelerator.install,
    amp.install,
    host_autocast.install,
    seeds.install,
    parallel.install,
    distributed.install,
    grouping.install,
    compiling.install,
    profiling.install,
    threads.install,
    loading.install,
    forks.install,
    sharing.install,
    serialization.install,
    programs.install,
)
