"""Threads: a dispatch mode is active only in the thread that entered it, so each new thread enters ours.

Autograd's own threads inherit the modes of the thread that called `backward`. What C++ calls back from threads of its
own, the callbacks of futures, enters it as well.
"""

from __future__ import annotations

import _thread
import functools
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch._C import _get_dispatch_stack_at, _len_torch_dispatch_stack

from .mode import ClaimMode
from .patching import wrap
from .state import Simulation


def install(_simulation: Simulation, mode: ClaimMode) -> None:
    """Have threads, `threading.Thread` or bare, and the callbacks of futures enter `mode`."""

    def bootstrap(original: Callable[..., Any], *args: Any) -> Any:
        with mode:
            return original(*args)

    def start_bare(original: Callable[..., Any], function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return original(_entering(mode, function), *args, **kwargs)

    def call_back(original: Callable[..., Any], future: Any, callback: Callable[..., Any]) -> Any:
        return original(future, _entering(mode, callback))

    # Subclasses override `run`; only what calls it is common to all.
    wrap(threading.Thread, "_bootstrap_inner", bootstrap)
    wrap(_thread, "start_new_thread", start_bare)
    wrap(_thread, "start_new", start_bare)
    wrap(torch.futures.Future, "then", call_back)
    wrap(torch.futures.Future, "add_done_callback", call_back)


def _entering(mode: ClaimMode, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, in `mode` where the thread that calls it is not."""

    @functools.wraps(function, updated=())
    def entered(*args: Any, **kwargs: Any) -> Any:
        if _is_active(mode):
            return function(*args, **kwargs)
        with mode:
            return function(*args, **kwargs)

    return entered


def _is_active(mode: ClaimMode) -> bool:
    return any(_get_dispatch_stack_at(index) is mode for index in range(_len_torch_dispatch_stack()))
