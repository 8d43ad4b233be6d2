"""`torch.cuda.manual_seed` and the like: the default generators of the devices, below torch's own Python code."""

from __future__ import annotations

from typing import Any

import torch

from .mode import ClaimMode
from .randomness import check_rng_state, device_rng_state, seed_device, set_device_rng_state
from .state import Simulation


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Give each device its default generator.

    Seeding a device that is not in use yet waits, in torch, for its first use. Here it happens at once: a generator in
    the state of the host's is the host's, and later the host's would be in another one.
    """
    torch.cuda.default_generators = _default_generators(simulation)
    random: Any = torch.cuda.random
    random._lazy_call = lambda callback, **_kwargs: callback()
    random.current_device = lambda: simulation.current


def _default_generators(simulation: Simulation) -> Any:
    class DefaultGenerator(torch.Generator):
        """The default generator of a device: a view of the state that `generators` keeps for it."""

        _index: int
        _place: torch.device
        _seed: int | None

        def manual_seed(self, seed: int) -> Any:
            self._seed = seed
            seed_device(simulation, self._index, seed)
            return self

        def seed(self) -> int:
            seed: int = torch._C.Generator().seed()
            self.manual_seed(seed)
            return seed

        def initial_seed(self) -> int:
            return torch.default_generator.initial_seed() if self._seed is None else self._seed

        def get_state(self) -> Any:
            return device_rng_state(simulation, self._index)

        def set_state(self, state: Any) -> Any:
            check_rng_state(state)
            set_device_rng_state(simulation, state, self._index)
            return self

        def get_offset(self) -> int:
            raise simulation.refuse("the offset of a generator")

        def set_offset(self, offset: int) -> Any:
            raise simulation.refuse("the offset of a generator")

    def made(index: int) -> Any:
        generator = DefaultGenerator("cpu")
        generator._index, generator._seed = index, None
        generator._place = torch.device(simulation.kind, index)
        return generator

    return tuple(made(index) for index in range(simulation.devices))
