"""The legacy tensor types, `torch.Tensor(…)`, `torch.FloatTensor` and `torch.cuda.FloatTensor`."""

from __future__ import annotations

from typing import Any

import torch

from .claims import HOST, claim_of, place_of, set_claim
from .messages import SCALAR_TYPES
from .mode import ClaimMode
from .patching import looking_like, wrap_method
from .state import Simulation

_SCALARS = {name: dtype for dtype, name in SCALAR_TYPES.items()}
_Tensor: Any = torch.Tensor
_type_of: Any = torch._C.TensorBase.type
_new_base: Any = torch._C.TensorBase.__new__


class _LegacyType(type):
    """The class of what stands for `torch.FloatTensor` and its like, whose instances are tensors."""

    simulation: Simulation
    host_type: Any
    is_cuda: bool

    def __call__(cls, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        kind = cls.simulation.kind if cls.is_cuda else "cpu"
        name = f"{cls.__module__}.{cls.__name__}"
        return _construct(cls.simulation, kind, cls.host_type, args, device, kwargs, name, cls.host_type.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        is_device = isinstance(instance, torch.Tensor) and cls.simulation.is_device(place_of(instance))
        return isinstance(instance, cls.host_type) and is_device == cls.is_cuda

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.host_type, name)


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Replace the types in `torch` and `torch.cuda`, and the constructor of `torch.Tensor`."""
    for kind in _SCALARS:
        name = f"{kind}Tensor"
        host_type = getattr(torch, name, None)
        if host_type is None:
            continue
        for module, is_cuda in ((torch, False), (getattr(torch, simulation.kind), True)):
            names = {
                "simulation": simulation,
                "host_type": host_type,
                "is_cuda": is_cuda,
                "__module__": module.__name__,
                "__doc__": host_type.__doc__,
            }
            setattr(module, name, _LegacyType(name, (), names))

    def new_tensor(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        def construct(*given: Any, **options: Any) -> Any:
            made = _new_base(torch.Tensor, *given, **options)
            # Under a dispatch mode torch cannot make a subclass at once.
            return made if cls is torch.Tensor else made.as_subclass(cls)

        return _construct(simulation, simulation.default_kind, construct, args, device, kwargs, "torch.Tensor")

    def new(original: Any, tensor: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        def construct(*given: Any, **options: Any) -> Any:
            return original(tensor, *given, **options)

        place = place_of(tensor)
        where = place if device is None else device
        return _construct(simulation, place.type, construct, args, where, kwargs, ".new", tensor.dtype)

    _Tensor.__new__ = staticmethod(looking_like(new_tensor, _new_base, torch.Tensor, "__new__"))
    wrap_method("new", new)


def _construct(
    simulation: Simulation,
    kind: str,
    construct: Any,
    args: tuple[Any, ...],
    device: Any,
    kwargs: dict[str, Any],
    name: str,
    dtype: torch.dtype | None = None,
) -> Any:
    """What the legacy constructor `construct` of the device type `kind` makes.

    A tensor that it is given has to be of `dtype`; `torch.Tensor`, of which there is none, takes any.

    Raises:
        RuntimeError, TypeError: it is asked for another type of device or of tensor, in the words of torch.
    """
    if kind == "cpu" and device is None:
        place = simulation.policy.birthplace(HOST)
        kind = place.type
    else:
        place = simulation.resolve(kind if device is None else device)
    if place.type != kind:
        raise RuntimeError(f"legacy constructor expects device type: {kind} but device type: {place.type} was passed")
    if args and isinstance(args[0], torch.Tensor) and dtype is not None:
        given = place_of(args[0])
        is_other = len(args) == 1 and args[0].dtype != dtype  # the indices of a sparse one are not of its type
        if given.type != kind or is_other:
            raise TypeError(f"expected {_options(dtype, kind)} (got {_options(args[0].dtype, str(given))})")
    made = construct(*args, **kwargs)
    if claim_of(made) is None:
        set_claim(made, simulation.claim(place, f"made by {name}"))
    return made


_IN_CPP = {
    torch.float32: "float",
    torch.float64: "double",
    torch.float16: "c10::Half",
    torch.bfloat16: "c10::BFloat16",
    torch.int64: "long int",
    torch.int32: "int",
    torch.int16: "short int",
    torch.int8: "signed char",
    torch.uint8: "unsigned char",
    torch.complex64: "c10::complex<float>",
    torch.complex128: "c10::complex<double>",
}


def _options(dtype: torch.dtype, device: str) -> str:
    """The options of a tensor as C++ prints them."""
    scalar = _IN_CPP.get(dtype, str(dtype).removeprefix("torch."))
    return (
        f"TensorOptions(dtype={scalar}, device={device}, layout=Strided, requires_grad=false (default), "
        "pinned_memory=false (default), memory_format=(nullopt))"
    )


def name_of(tensor: Any, simulation: Simulation) -> str:
    """`torch.cuda.FloatTensor` and the like, as `Tensor.type()` says."""
    name: str = _type_of(tensor)
    if simulation.is_device(place_of(tensor)):
        return name.replace("torch.", f"torch.{simulation.kind}.", 1)
    return name


def parse(wanted: Any, simulation: Simulation) -> tuple[torch.dtype, str] | None:
    """The dtype and the device type that a legacy type, or its name, stands for; None for anything else."""
    name = wanted if isinstance(wanted, str) else _name(wanted)
    if name is None or not name.startswith("torch.") or not name.endswith("Tensor"):
        return None
    namespace, _, kind = name[len("torch.") : -len("Tensor")].rpartition(".")
    if namespace not in ("", simulation.kind) or kind not in _SCALARS:
        return None
    return _SCALARS[kind], namespace or "cpu"


def _name(wanted: Any) -> str | None:
    is_legacy = isinstance(wanted, _LegacyType) or type(wanted).__name__ == "tensortype"
    return f"{wanted.__module__}.{wanted.__name__}" if is_legacy else None
