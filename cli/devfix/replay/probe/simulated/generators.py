"""`torch.Generator`, what draws with one, and what seeds all devices."""

from __future__ import annotations

from typing import Any

import torch

from .claims import HOST, place_of, set_claim
from .mode import ClaimMode
from .patching import wrap, wrap_function, wrap_method
from .randomness import check_generator, check_rng_state, rejoin
from .state import Simulation

_Generator: Any = torch._C.Generator
_METHODS = (
    "bernoulli",
    "bernoulli_",
    "cauchy_",
    "exponential_",
    "geometric_",
    "log_normal_",
    "multinomial",
    "normal_",
    "random_",
    "uniform_",
)
_FUNCTIONS = ("bernoulli", "binomial", "multinomial", "poisson")


class _InstancesAreGenerators(type(_Generator)):  # type: ignore[misc]
    """`isinstance(x, torch.Generator)` also holds for generators that torch itself made."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _Generator)


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch `torch.Generator`, what draws with one, and what seeds all devices."""
    torch.Generator = _generator_class(simulation)  # type: ignore[misc]

    def draw(original: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        check_generator(place_of(tensor), kwargs)
        return original(tensor, *args, **kwargs)

    def host_state(original: Any) -> Any:
        state = original()
        set_claim(state, simulation.claim(HOST, "made by torch.get_rng_state"))
        return state

    def set_host_state(original: Any, new_state: Any) -> None:
        check_rng_state(new_state)
        original(new_state)
        rejoin(simulation)

    def seed_all(original: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        simulation.generators.clear()
        return result

    for name in _METHODS:
        wrap_method(name, draw)
    for name in _FUNCTIONS:
        wrap_function(torch, name, draw)
    for module in (torch, torch.random):
        wrap(module, "get_rng_state", host_state)
        wrap(module, "set_rng_state", set_host_state)
        wrap(module, "manual_seed", seed_all)
        wrap(module, "seed", seed_all)


def _generator_class(simulation: Simulation) -> Any:
    class Generator(_Generator, metaclass=_InstancesAreGenerators):  # type: ignore[misc]
        """A generator that claims the place it was made for."""

        _place: torch.device
        _draws_anywhere: bool

        def __new__(cls, device: Any = "cpu") -> Any:
            place = simulation.resolve("cpu" if device is None else device)
            made = super().__new__(cls, "cpu" if simulation.is_device(place) else place)
            made._place = place
            made._draws_anywhere = simulation.policy.draws_anywhere()
            return made

        @property
        def device(self) -> torch.device:
            return self._place

        def get_state(self) -> Any:
            state = super().get_state()
            set_claim(state, simulation.claim(HOST, "made by Generator.get_state"))
            return state

        def set_state(self, state: Any) -> Any:
            check_rng_state(state)
            return super().set_state(state)

        def clone_state(self) -> Any:
            clone = type(self)(self._place)
            clone.set_state(self.get_state())
            return clone

        def __deepcopy__(self, _memo: Any) -> Any:
            return self.clone_state()

        def __reduce__(self) -> Any:
            return (torch.Generator, (self._place,), self.get_state())

        def __setstate__(self, state: Any) -> None:
            self.set_state(state)

    Generator.__module__, Generator.__qualname__ = "torch", "Generator"
    return Generator
