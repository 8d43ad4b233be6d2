"""Autocast on the simulated device: CUDA's lists of operators, applied to tensors that claim a device.

torch applies autocast in the dispatcher, to tensors that really are on the device. We put kernels in the place of those
for CUDA, with the same rules (`aten/src/ATen/autocast_mode.h`), but for tensors that claim it. Which operator is under
which rule is read from the copy of that file which torch installs, so that it is right for the torch at hand.

The values are those of float16 and bfloat16 on the CPU.
"""

from __future__ import annotations

import re
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from .claims import claim_of, tensors_in
from .host_autocast import KEYS, key_set
from .mode import ClaimMode
from .patching import wrap
from .state import Simulation

Operator = Any
"""A `torch._ops.OpOverload`."""

Rule = Callable[[Operator, tuple[Any, ...], dict[str, Any]], Any]

_HEADER = Path("include", "ATen", "autocast_mode.h")
_KEY = "AutocastCUDA"

_BANNED = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)

_CUDNN = ("lstm", "gru", "rnn_tanh", "rnn_relu")
"""CUDA hands them over to cuDNN, for which autocast casts everything (`_cudnn_rnn_cast_reflatten`)."""

_to_copy = torch.ops.aten._to_copy.default


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Have `torch.autocast("cuda")` cast what claims a device."""
    kernels = _Kernels(simulation)

    def set_enabled(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        # torch knows whose that was: the device may be `cuda:0`, a keyword or, as before torch 2.4, not named at all.
        kernels.enable(torch.is_autocast_enabled(simulation.kind))
        return result

    def clear_cache(original: Callable[..., Any]) -> Any:
        kernels.cache.clear()
        return original()

    for owner in (torch, torch._C):
        wrap(owner, "set_autocast_enabled", set_enabled)
        wrap(owner, "clear_autocast_cache", clear_cache)


class _Kernels:
    """The kernels, registered when autocast is first used; `cache` holds the weights that were cast in this region."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._library: Any = None
        self.cache: dict[int, tuple[weakref.ref[torch.Tensor], torch.Tensor]] = {}

    def enable(self, enabled: bool) -> None:
        """Run the kernels in this thread from now on, whichever the tensors are, or don't."""
        if enabled and self._library is None:
            self._register()
        torch._C._dispatch_tls_set_dispatch_key_included(_KEY, enabled)

    def _register(self) -> None:
        self._library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
        with warnings.catch_warnings():
            # torch says that its own kernels are overridden.
            warnings.simplefilter("ignore")
            for operator, rule in self._rules():
                self._library.impl(operator, self._kernel(operator, rule), _KEY)

    def _kernel(self, operator: Operator, rule: Rule) -> Callable[..., Any]:
        below, below_all = key_set(_KEY), key_set(_KEY, *KEYS)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            if any(_on_device(tensor) for tensor in tensors_in((*args, *kwargs.values()))):
                with torch._C._ExcludeDispatchKeyGuard(below_all):
                    return rule(operator, args, kwargs)
            # On CUDA, operators on the host never come here.
            with torch._C._ExcludeDispatchKeyGuard(below):
                return operator(*args, **kwargs)

        return kernel

    def _rules(self) -> Iterator[tuple[Operator, Rule]]:
        text = self._header()
        for macro, rule in (
            ("AT_FORALL_LOWER_PRECISION_FP", self._lower),
            ("AT_FORALL_FP32", self._in_float32),
            ("AT_FORALL_FP32_SET_OPT_DTYPE", self._to_float32),
            ("AT_FORALL_PROMOTE", self._promote),
        ):
            for name, overload in _listed(text, macro):
                operator = getattr(getattr(torch.ops.aten, name, None), overload, None)
                if operator is not None:
                    yield operator, rule
        for name in _CUDNN:
            yield getattr(torch.ops.aten, name).input, self._lower
            yield getattr(torch.ops.aten, name).data, self._lower
        yield torch.ops.aten.norm.Scalar, self._norm
        yield torch.ops.aten.norm.ScalarOpt_dim, self._norm
        yield torch.ops.aten.binary_cross_entropy.default, self._banned

    def _header(self) -> str:
        file = Path(torch.__file__).parent / _HEADER
        try:
            text = file.read_text(encoding="utf-8")
        except OSError:
            text = ""
        if not _listed(text, "AT_FORALL_FP32"):
            raise self._simulation.refuse(f"autocast, because torch came without its lists ({_HEADER.as_posix()})")
        return text

    # The rules, with the names that autocast_mode.h has for them in brackets.

    def _lower(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run in the type of the region (lower_precision_fp)."""
        return self._run(operator, args, kwargs, torch.get_autocast_dtype(self._simulation.kind))

    def _in_float32(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run in float32 (fp32)."""
        return self._run(operator, args, kwargs, torch.float32)

    def _to_float32(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Ask the operator to return float32, unless the caller asked for a type (fp32_set_opt_dtype)."""
        names = [argument.name for argument in operator._schema.arguments]
        given = kwargs.get("dtype") or dict(zip(names, args)).get("dtype")
        if given is not None or not _is_cast(args[0]):
            return operator(*args, **kwargs)
        return operator(*args[: names.index("dtype")], **{**kwargs, "dtype": torch.float32})

    def _norm(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the overload that takes a type (fp32_append_dtype)."""
        if not _is_cast(args[0]):
            return operator(*args, **kwargs)
        names = [argument.name for argument in operator._schema.arguments]
        defaults = {argument.name: argument.default_value for argument in operator._schema.arguments}
        given = {**defaults, **dict(zip(names, args)), **kwargs}
        if operator is torch.ops.aten.norm.Scalar:
            return torch.ops.aten.norm.ScalarOpt_dtype(*given.values(), dtype=torch.float32)
        return torch.ops.aten.norm.ScalarOpt_dim_dtype(*given.values(), dtype=torch.float32)

    def _promote(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run in the widest type among the arguments (promote)."""
        dtypes = {tensor.dtype for tensor in tensors_in((*args, *kwargs.values())) if _is_cast(tensor)}
        wide = torch.float32 in dtypes
        return self._run(
            operator, args, kwargs, torch.float32 if wide else torch.get_autocast_dtype(self._simulation.kind)
        )

    def _banned(self, _operator: Operator, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> Any:
        raise RuntimeError(_BANNED)

    def _run(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], dtype: torch.dtype) -> Any:
        return operator(
            *(self._cast(value, dtype) for value in args),
            **{name: self._cast(value, dtype) for name, value in kwargs.items()},
        )

    def _cast(self, value: Any, dtype: torch.dtype) -> Any:
        """`value`, and in lists each value, as `dtype` where autocast would (cached_cast)."""
        if isinstance(value, (list, tuple)):
            return type(value)(self._cast(item, dtype) for item in value)
        if not isinstance(value, torch.Tensor) or not _is_cast(value) or value.dtype is dtype:
            return value
        if not _is_cached(value, dtype, self._simulation.kind):
            return _to_copy(value, dtype=dtype)
        known = self.cache.get(id(value))
        if known is None or known[0]() is not value:
            known = self.cache[id(value)] = (weakref.ref(value), _to_copy(value, dtype=dtype))
        return known[1]


def _listed(text: str, macro: str) -> list[tuple[str, str]]:
    """The operators, name and overload, that `macro` of autocast_mode.h lists."""
    found = re.search(rf"#define {macro}\(_\)((?:[^\n]*\\\n)*[^\n]*)", text)
    entries = re.findall(r"_\((\w+)(?:,\s*(\w+))?\)", found[1]) if found else []
    return [(name, overload or "default") for name, overload in entries]


def _on_device(tensor: torch.Tensor) -> bool:
    """Whether `tensor` claims a device. What C++ made claims nothing and is wherever it is used."""
    claim = claim_of(tensor)
    return claim is None or claim.place.type != "cpu"


def _is_cast(value: Any) -> bool:
    """Whether autocast concerns itself with `value` (is_eligible)."""
    return value.is_floating_point() and value.dtype is not torch.float64 and _on_device(value)


def _is_cached(value: torch.Tensor, dtype: torch.dtype, kind: str) -> bool:
    """Whether the cast of `value` is kept until the region ends: that of a weight is, so that it is made once."""
    return (
        torch.is_autocast_cache_enabled()
        and dtype is torch.get_autocast_dtype(kind)
        and value.dtype is torch.float32
        and value.requires_grad
        and value.is_leaf
        and not value._is_view()
    )
