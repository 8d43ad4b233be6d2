"""TorchScript: functions and modules run as the Python that they are."""

from __future__ import annotations

from typing import Any

import torch

from .mode import ClaimMode
from .patching import wrap
from .state import Simulation

_OUR_FRAMES = 2


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Patch `torch.jit`. What reads or writes compiled code is refused."""

    def script(original: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(obj, "__module__", "").startswith("torch."):
            # torch reads the graphs of its own decompositions, and looks up names in the frame of who scripts.
            frames = kwargs.get("_frames_up", 0) + _OUR_FRAMES
            try:
                return original(obj, *args, **{**kwargs, "_frames_up": frames})
            except RuntimeError:
                return obj  # it calls what is patched, which TorchScript does not know; as Python it does the same
        simulation.note("torch.jit.script: runs as Python")
        return obj

    def trace(_original: Any, func: Any, example_inputs: Any = None, *_args: Any, **_kwargs: Any) -> Any:
        simulation.note("torch.jit.trace: runs as Python")
        if example_inputs is not None:
            func(*(example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)))
        return func

    def refuse(what: str) -> Any:
        def refused(_original: Any, *_args: Any, **_kwargs: Any) -> Any:
            raise simulation.refuse(what)

        return refused

    wrap(torch.jit, "script", script)
    wrap(torch.jit, "trace", trace)
    for name in ("save", "load", "freeze", "optimize_for_inference", "trace_module"):
        wrap(torch.jit, name, refuse(f"torch.jit.{name}"))
