"""A call of `torch.cuda` that needs CUDA, in code that runs without.

## What it does

Finds `torch.cuda.synchronize()`, `reset_peak_memory_stats()`, `get_rng_state()`, `current_device()` and
`torch.cuda.device(x.device)` where nothing asks whether CUDA is there, in code that otherwise provides for another
device, and guards them.

## Why it fails

These calls initialise CUDA. Where torch is built without it, or no driver is found, they raise

    AssertionError: Torch not compiled with CUDA enabled
    RuntimeError: Found no NVIDIA driver on your system.
    ValueError: Expected a cuda device, but got: cpu

`empty_cache`, `manual_seed`, `manual_seed_all`, `device_count`, `memory_allocated` and `max_memory_allocated` do
nothing without CUDA (torch/cuda/memory.py, random.py), and are left alone.

## Before

    loss.backward()
    torch.cuda.synchronize()

## After

    loss.backward()
    if torch.cuda.is_available():
        torch.cuda.synchronize()

## Fix safety

Safe: where CUDA is there nothing changes, and elsewhere the call raises today. Unsafe where the value of the call is
used, which then needs another one, and where what has the device may be no tensor. Tests, benchmarks, files that import
CUDA kernels or join cards, functions that need CUDA or pinned memory anyway, and code that asks anywhere above are left
alone; so is `torch.cuda.set_device`, and what stands beside `torch.cuda.memory_stats()["…"]`, which is empty there.

## Since torch

Any.
"""

from collections.abc import Iterator

from devfix_codemods.assumptions.purpose import is_for_cuda, is_for_machine
from devfix_codemods.assumptions.unguarded import unguarded_calls
from devfix_codemods.findings import Finding
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule


def check(program: Program) -> Iterator[Finding]:
    """Calls of `torch.cuda` that nothing guards, where the code provides for another device."""
    if is_for_machine(program.source) or is_for_cuda(program.source):
        return
    for one in unguarded_calls(program.index):
        yield one.finding(RULE.code, RULE.name, program.source)


RULE = Rule(
    "DVF502",
    "unguarded-cuda-api",
    tuple(
        (b"cuda", word)
        for word in (
            b"synchronize(",
            b"reset_peak_memory_stats(",
            b"reset_max_memory_allocated(",
            b"ipc_collect(",
            b"get_rng_state(",
            b"current_device(",
            b"cuda.device(",
        )
    ),
    check,
    respells=True,
)
