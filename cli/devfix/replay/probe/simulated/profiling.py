"""torch's profilers: they see what the host does, which is all there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .mode import ClaimMode
from .patching import wrap
from .state import Simulation


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Have profilers not ask for the device's own record, which nobody keeps."""

    def profile(
        original: Callable[..., Any],
        self: Any,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: Any = None,
        use_cpu: bool = True,
        **options: Any,
    ) -> None:
        asked = use_cuda or use_device == simulation.kind
        original(self, enabled, use_device=None if asked else use_device, use_cpu=use_cpu or asked, **options)

    def refuse_markers(_original: Callable[..., Any], *_args: Any) -> Any:
        raise simulation.refuse("torch.autograd.profiler.emit_nvtx")

    wrap(torch.autograd.profiler.profile, "__init__", profile)
    wrap(torch.autograd.profiler.emit_nvtx, "__enter__", refuse_markers)
