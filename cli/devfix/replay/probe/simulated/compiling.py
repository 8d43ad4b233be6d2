"""`torch.compile`: what it would compile for the device runs eagerly. What only exists compiled is refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from ..imports import AfterImport
from .mode import ClaimMode
from .patching import wrap
from .state import Simulation


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Have `torch.compile` return what looks compiled, and Triton's kernels say that they are not simulated."""
    told: list[str] = []

    def compile_(original: Callable[..., Any], model: Any = None, **options: Any) -> Any:
        if options.get("disable"):
            return original(model, **options)
        if model is None:
            return lambda decorated: compile_(original, decorated, **options)
        if not told:
            told.append("once is enough")
            simulation.note("torch.compile runs eagerly")
        return _compiled_module(model) if isinstance(model, torch.nn.Module) else _compiled_function(model)

    def refuse_launch(_original: Any, *_args: Any, **_kwargs: Any) -> Any:
        raise simulation.refuse("kernels written in Triton")

    def triton_is_here(module: ModuleType) -> None:
        wrap(getattr(module, "JITFunction", None), "run", refuse_launch)

    def refuse_flex_attention(_original: Any, *_args: Any, **_kwargs: Any) -> Any:
        raise simulation.refuse("flex_attention")

    def flex_attention_is_here(module: ModuleType) -> None:
        wrap(module, "flex_attention", refuse_flex_attention)

    wrap(torch, "compile", compile_)
    AfterImport(
        {"triton.runtime.jit": triton_is_here, "torch.nn.attention.flex_attention": flex_attention_is_here}
    ).install()


def run_eagerly(function: Any) -> Any:
    """What stands in an `OptimizedModule` for the context that compiles: nothing is compiled."""
    return function


def _compiled_module(module: torch.nn.Module) -> Any:
    """`module` in torch's own wrapper, which scripts see: its parameters are those of `_orig_mod`."""
    from torch._dynamo.eval_frame import OptimizedModule

    wrapper: Any = OptimizedModule(module, run_eagerly)  # type: ignore[arg-type]
    wrapper._torchdynamo_orig_callable = module.forward
    return wrapper


def _compiled_function(function: Callable[..., Any]) -> Any:
    @functools.wraps(function)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    compiled._torchdynamo_orig_callable = function  # type: ignore[attr-defined]
    return compiled
