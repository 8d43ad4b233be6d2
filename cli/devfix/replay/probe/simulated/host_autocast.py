"""Autocast on the host, `torch.autocast("cpu")`: tensors that claim a device are none of its business.

To the dispatcher all tensors are on the host. Kernels under a key above that of the host's autocast, which no torch
uses for anything, take what claims a device past it. See `amp` for autocast on the simulated device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from .calls import claimed_place
from .claims import HOST
from .mode import ClaimMode
from .patching import wrap
from .state import Simulation

KEY = "AutocastIPU"
"""Graphcore's; torch only keeps its place among the keys."""

_HOST_KEY = "AutocastCPU"

KEYS = (KEY, _HOST_KEY)
"""What to exclude for the host's autocast to be off."""


def install(_simulation: Simulation, _mode: ClaimMode) -> None:
    """Have the host's autocast pass by what claims a device, from its first use on."""
    libraries: list[Any] = []

    def set_enabled(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        enabled = torch.is_autocast_enabled("cpu")
        if enabled and not libraries:
            libraries.append(_registered())
        # The keys of autocast are excluded until it is on.
        torch._C._dispatch_tls_set_dispatch_key_excluded(KEY, not enabled)
        torch._C._dispatch_tls_set_dispatch_key_included(KEY, enabled)
        return result

    for owner in (torch, torch._C):
        for name in ("set_autocast_enabled", "set_autocast_cpu_enabled"):
            wrap(owner, name, set_enabled)


def key_set(*keys: str) -> Any:
    """The `DispatchKeySet` of `keys`."""
    first, *others = (torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key)) for key in keys)
    for other in others:
        first = first | other
    return first


def _registered() -> tuple[Any, ...]:
    """The libraries that hold the kernels: one for each operator which the host's autocast knows, none for others."""
    others: Any = torch._C._dispatch_library("IMPL", "_", KEY)
    others.fallback_fallthrough()
    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    for operator in _operators():
        library.impl(operator, _kernel(operator), KEY)
    return others, library


def _operators() -> Iterator[Any]:
    for qualified in torch._C._dispatch_get_registrations_for_dispatch_key(_HOST_KEY):
        namespace, _, name = qualified.partition("::")
        base, _, overload = name.partition(".")
        operator = getattr(getattr(torch.ops.aten, base, None), overload or "default", None)
        if namespace == "aten" and operator is not None:
            yield operator


def _kernel(operator: Any) -> Callable[..., Any]:
    past, onwards = key_set(*KEYS), key_set(KEY)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        values = torch.utils._pytree.tree_leaves((args, kwargs))
        on_device = any(claimed_place(value) not in (None, HOST) for value in values)
        with torch._C._ExcludeDispatchKeyGuard(past if on_device else onwards):
            return operator(*args, **kwargs)

    return kernel
