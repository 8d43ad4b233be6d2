"""The random numbers of devices.

Devices draw from the host's default generator, so that a simulated run computes what a plain CPU run does. Only when a
script puts a device's generator into a state of its own - one that the host's does not have at that moment - does the
device get a generator apart, and it gives it up as soon as both are in the same state again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from .claims import HOST, place_of, set_claim
from .state import Simulation

_Generator: Any = torch._C.Generator
_default: Any = torch.default_generator
_AS_IT_IS = nullcontext()


def drawing(simulation: Simulation, place: torch.device, kwargs: dict[str, Any]) -> AbstractContextManager[None]:
    """The context for a call that may draw random numbers at `place` with `kwargs`, whose `generator` is checked.

    Raises:
        RuntimeError: the generator is for another type of device, in the words of torch.
    """
    check_generator(place, kwargs)
    if kwargs.get("generator") is not None or not simulation.generators:
        return _AS_IT_IS
    return drawing_apart(simulation, place)


def check_generator(place: torch.device, kwargs: dict[str, Any]) -> None:
    """Check that numbers at `place` may be drawn from the `generator` of `kwargs`.

    A default generator of a device is taken out: it is drawn from if none is given.

    Raises:
        RuntimeError: they may not, in the words of torch.
    """
    generator = kwargs.get("generator")
    if generator is None or getattr(generator, "_draws_anywhere", False):
        return
    found = generator.device.type
    if found != place.type and place.type != "meta":
        raise RuntimeError(f"Expected a '{place.type}' device type for generator but found '{found}'")
    if any(generator is default for default in torch.cuda.default_generators):
        kwargs["generator"] = None


def check_rng_state(state: Any) -> None:
    """Check that `state`, which a generator shall get, is on the host.

    Raises:
        TypeError: it is not, in the words of torch (`check_rng_state` in ATen/core/Generator.h).
    """
    if isinstance(state, torch.Tensor) and place_of(state) is not HOST:
        raise TypeError("RNG state must be a torch.ByteTensor")


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
    rejoin(simulation)


def rejoin(simulation: Simulation) -> None:
    """Let the devices whose generators are in the state of the host's draw from the host's again."""
    if not simulation.generators:
        return
    host = _default.get_state()
    for index in [index for index, state in simulation.generators.items() if torch.equal(state, host)]:
        del simulation.generators[index]
