"""Functions that make tensors: `torch.zeros` and its like, with their `device=`, and the defaults for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .claims import HOST, claim_of, holders, pin, place_of, set_claim, tensors_in
from .mode import ClaimMode
from .moves import Moves
from .patching import wrap, wrap_function, wrap_method
from .randomness import check_generator, drawing
from .state import Simulation

Make = Callable[..., Any]

_SIZED = (
    "arange",
    "bartlett_window",
    "blackman_window",
    "empty",
    "empty_permuted",
    "empty_quantized",
    "empty_strided",
    "eye",
    "full",
    "hamming_window",
    "hann_window",
    "kaiser_window",
    "linspace",
    "logspace",
    "ones",
    "rand",
    "randint",
    "randn",
    "randperm",
    "range",
    "scalar_tensor",
    "tril_indices",
    "triu_indices",
    "zeros",
    "_empty_affine_quantized",
    "_empty_per_channel_affine_quantized",
    "_efficientzerotensor",
)
_SPARSE = (
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
)
_LIKE = ("empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like")
_CONVERTING = ("tensor", "as_tensor", "asarray")
_NEW = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros")
# Those that always make host tensors, whatever the default device.
_ON_HOST = ("from_numpy", "frombuffer", "from_file")


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch the factories of `torch`, `torch.fft` and `torch.Tensor`."""
    factories = Factories(simulation)
    for name in _SIZED:
        wrap_function(torch, name, factories.sized(f"torch.{name}"))
    wrap_function(torch, "normal", factories.normal)
    for name in ("fftfreq", "rfftfreq"):
        wrap_function(torch.fft, name, factories.sized(f"torch.fft.{name}"))
    wrap(torch.nested, "nested_tensor", factories.nested)
    for name in _SPARSE:
        wrap_function(torch, name, factories.sparse(f"torch.{name}"))
    for name in _LIKE:
        wrap_function(torch, name, factories.like(f"torch.{name}"))
    for name in _CONVERTING:
        wrap_function(torch, name, factories.converting(f"torch.{name}"))
    for name in _NEW:
        wrap_method(name, factories.like(f".{name}"))
    for name in _ON_HOST:
        wrap(torch, name, factories.on_host(f"torch.{name}"))


class Factories:
    """Each method makes what `patching.wrap` wants from the name that a claim shall tell."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._moves = Moves(simulation)

    def sized(self, name: str) -> Make:
        """For functions that make a tensor from sizes and numbers."""
        how = f"made by {name}"

        def make(original: Any, *args: Any, **kwargs: Any) -> Any:
            place = self._asked(kwargs)
            out = kwargs.get("out")
            if place is None:
                place = self._simulation.default_place() if out is None else place_of(out)
            made = self._made(original, place, args, kwargs)
            if out is None:
                self._claim(made, place, how)
            return made

        return make

    def normal(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """For `torch.normal`: with tensors it is an operator like any other, else a factory."""
        given = next((value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)), None)
        if given is None:
            return self.sized("torch.normal")(original, *args, **kwargs)
        check_generator(place_of(given), kwargs)
        return original(*args, **kwargs)

    def sparse(self, name: str) -> Make:
        """For functions that put a sparse tensor together from its parts, which go to where the values are."""
        how = f"made by {name}"

        def make(original: Any, *args: Any, **kwargs: Any) -> Any:
            place = self._asked(kwargs) or self._of_tensors(args)
            parts = tuple(self._at(place, value) for value in args)
            made = self._made(original, place, parts, kwargs)
            for part in holders(made):
                if claim_of(part) is None:
                    self._claim(part, place, how)
            return made

        return make

    def nested(self, original: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        """For `torch.nested.nested_tensor`; one of the jagged layout is made by patched functions.

        Raises:
            NotSimulated: the parts are in different places, which C++ would move together or refuse.
        """
        if kwargs.get("layout") is torch.jagged:
            return original(*args, device=device, **kwargs)
        if device is None:
            if len({claim.place for claim in map(claim_of, tensors_in(args)) if claim is not None}) > 1:
                raise self._simulation.refuse("a nested tensor of parts in different places")
            return original(*args, **kwargs)
        place = self._simulation.resolve(device)
        made = original(*args, device="cpu" if self._simulation.is_device(place) else place, **kwargs)
        self._claim(made, place, "made by torch.nested.nested_tensor")
        return made

    def like(self, name: str) -> Make:
        """For functions and methods that make a tensor after the model of their first argument."""
        how = f"made by {name}"

        def make(original: Any, *args: Any, **kwargs: Any) -> Any:
            place = self._asked(kwargs)
            if place is None:
                place = place_of(args[0] if args else kwargs["input"])
            made = self._made(original, place, args, kwargs)
            self._claim(made, place, how)
            return made

        return make

    def converting(self, name: str) -> Make:
        """For functions that make a tensor from data, which may be a tensor itself and may be shared."""
        how = f"made by {name}"

        def make(original: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
            place = self._asked(kwargs)
            is_tensor = isinstance(data, torch.Tensor)
            if place is None:
                place = place_of(data) if is_tensor else self._simulation.default_place()
            source = place_of(data) if is_tensor else HOST
            pinned = kwargs.get("pin_memory", False)
            if is_tensor and pinned:
                raise RuntimeError("Can't pin tensor constructed from a variable")
            if place.type == "meta":
                kwargs["device"] = "meta"
                return original(data, *args, **kwargs)
            made = self._made(original, source, (data, *args), kwargs)
            if made is data:
                return made if place is source else self._moves.move(made, place, how)
            shared = is_tensor and _share(made, data)
            if place is not source and (shared or name != "torch.tensor"):
                return self._moves.move(made, place, how)
            if not shared:
                self._claim(made, place, how, data if is_tensor else None)
            return made

        return make

    def on_host(self, name: str) -> Make:
        """For functions that know only the host."""
        how = f"made by {name}"

        def make(original: Any, *args: Any, **kwargs: Any) -> Any:
            made = original(*args, **kwargs)
            self._claim(made, self._simulation.policy.birthplace(HOST), how)
            return made

        return make

    def _asked(self, kwargs: dict[str, Any]) -> torch.device | None:
        device = kwargs.get("device")
        return None if device is None else self._simulation.resolve(device)

    def _of_tensors(self, args: tuple[Any, ...]) -> torch.device:
        """Where a factory works without a `device=`: with the last tensor given to it, else at the default place."""
        for value in reversed(args):
            if isinstance(value, torch.Tensor):
                return place_of(value)
        return self._simulation.default_place()

    def _at(self, place: torch.device, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and place_of(value) is not place:
            return self._moves.move(value, place, "moved by .to")
        return value

    def _made(self, original: Any, place: torch.device, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What `original` makes, where torch sees the host instead of the simulated device."""
        simulation = self._simulation
        kwargs["device"] = "cpu" if simulation.is_device(place) else place
        if not kwargs.get("pin_memory", False):
            with drawing(simulation, place, kwargs):
                return original(*args, **kwargs)
        if place is not HOST:
            raise RuntimeError("Only dense CPU tensors can be pinned")
        made = original(*args, **{**kwargs, "pin_memory": False})
        pin(made)
        return made

    def _claim(self, made: Any, place: torch.device, how: str, source: Any = None) -> None:
        before = None if source is None else claim_of(source)
        set_claim(made, self._simulation.claim(place, how, before))


def _share(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.layout is torch.strided is other.layout and one.data_ptr() == other.data_ptr() != 0
