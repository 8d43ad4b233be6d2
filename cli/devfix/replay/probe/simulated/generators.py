"""Random generators, and the random numbers of devices.

Devices draw from the host's default generator, so that a simulated run computes what a plain CPU run does. Only when a
script puts a device's generator into a state of its own - one that the host's does not have at that moment - does the
device get a generator apart, and it gives it up as soon as both are in the same state again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch

from .claims import HOST, place_of, set_claim
from .patching import wrap, wrap_function, wrap_method
from .state import Simulation

if TYPE_CHECKING:
    from .mode import ClaimMode

_Generator = torch._C.Generator
_default: Any = torch.default_generator
_AS_IT_IS = nullcontext()
_METHODS = (
    "bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_ uniform_".split()
)
_FUNCTIONS = "bernoulli binomial multinomial poisson".split()


class _InstancesAreGenerators(type(_Generator)):  # type: ignore[misc]
    """`isinstance(x, torch.Generator)` also holds for generators that torch itself made."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _Generator)


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch `torch.Generator`, what draws with one, and what seeds all devices."""
    torch.Generator = _generator_class(simulation)  # type: ignore[misc]

    def draw(original: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        generator = kwargs.get("generator")
        if generator is not None:
            check_generator(place_of(tensor), generator)
        return original(tensor, *args, **kwargs)

    def host_state(original: Any) -> Any:
        state = original()
        set_claim(state, simulation.claim(HOST, "made by torch.get_rng_state"))
        return state

    def set_host_state(original: Any, state: Any) -> None:
        original(state)
        _rejoin(simulation)

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
    class Generator(_Generator, metaclass=_InstancesAreGenerators):
        """A generator that claims the place it was made for."""

        _place: torch.device

        def __new__(cls, device: Any = "cpu") -> Any:
            place = simulation.resolve("cpu" if device is None else device)
            made = super().__new__(cls, "cpu" if simulation.is_device(place) else place)
            made._place = place
            return made

        @property
        def device(self) -> torch.device:
            return self._place

        def get_state(self) -> Any:
            state = super().get_state()
            set_claim(state, simulation.claim(HOST, "made by Generator.get_state"))
            return state

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

    Generator.__module__, Generator.__qualname__ = "torch._C", "Generator"
    return Generator


def drawing(simulation: Simulation, place: torch.device, kwargs: dict[str, Any]) -> AbstractContextManager[None]:
    """The context for a call that may draw random numbers at `place` with `kwargs`, whose `generator` is checked.

    Raises:
        RuntimeError: the generator is for another type of device, in the words of torch.
    """
    generator = kwargs.get("generator")
    if generator is not None:
        check_generator(place, generator)
        return _AS_IT_IS
    return drawing_apart(simulation, place) if simulation.generators else _AS_IT_IS


def check_generator(place: torch.device, generator: Any) -> None:
    """Check that numbers at `place` may be drawn from `generator`.

    Raises:
        RuntimeError: they may not, in the words of torch.
    """
    found = generator.device.type
    if found != place.type and place.type != "meta":
        raise RuntimeError(f"Expected a '{place.type}' device type for generator but found '{found}'")


@contextlib.contextmanager
def drawing_apart(simulation: Simulation, place: torch.device) -> Iterator[None]:
    """Around operations at `place`: they draw from a generator of its own, if it has one. May be nested."""
    index = place.index or 0
    state = simulation.generators.pop(index, None) if simulation.is_device(place) else None
    if state is None:
        yield
        return
    host = _default.get_state()
    _default.set_state(state)
    try:
        yield
    finally:
        simulation.generators[index] = _default.get_state()
        _default.set_state(host)


def seed_device(simulation: Simulation, index: int | None, seed: int) -> None:
    """Seed the generator of the device `index`, of all devices if None, as `torch.cuda.manual_seed` does."""
    state = _Generator().manual_seed(seed).get_state()
    for number in range(simulation.devices) if index is None else (index,):
        set_device_rng_state(simulation, state, number)


def device_rng_state(simulation: Simulation, index: int) -> torch.Tensor:
    """The state of the generator of the device `index`: a tensor of bytes on the host."""
    apart = simulation.generators.get(index)
    state = _default.get_state() if apart is None else apart.clone()
    set_claim(state, simulation.claim(HOST, "made by torch.cuda.get_rng_state"))
    result: torch.Tensor = state
    return result


def set_device_rng_state(simulation: Simulation, state: torch.Tensor, index: int) -> None:
    """Put the generator of the device `index` into `state`, which `device_rng_state` returned."""
    simulation.generators[index] = state.clone()
    _rejoin(simulation)


def _rejoin(simulation: Simulation) -> None:
    """Let the devices whose generators are in the state of the host's draw from the host's again."""
    if not simulation.generators:
        return
    host = _default.get_state()
    for index in [index for index, state in simulation.generators.items() if torch.equal(state, host)]:
        del simulation.generators[index]
