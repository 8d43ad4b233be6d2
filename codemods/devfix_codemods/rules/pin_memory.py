"""Memory is pinned that cannot be: a device's, or the host's of a machine without an accelerator.

## What it does

Finds `.pin_memory()` on tensors that are on a device, loaders with `pin_memory=True` whose dataset gives such tensors,
`x.pin_memory().to(device)` in programs that also run without an accelerator, `pin_memory` that is decided by a
comparison which never holds (`device == "cuda"` for a `torch.device`), or that is on whatever the device is, and the
deprecated argument of `Tensor.pin_memory`. A dataset gives what its `__getitem__` returns, or its collate function; a
device that only the caller knows may be the host.

## Why it fails

Only memory of the host can be pinned, and only for an accelerator that is there:

    RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned
    RuntimeError: Cannot access accelerator device when none is available.

A loader only warns (`'pin_memory' argument is set as true but no accelerator is found`), and pins nothing.

## Before

    data = TensorDataset(x.to(device), y.to(device))
    loader = DataLoader(data, batch_size=32, pin_memory=True)

## After

    data = TensorDataset(x.to(device), y.to(device))
    loader = DataLoader(data, batch_size=32, pin_memory=False)

## Fix safety

Safe for tensors on a device, which raise today, and where the host's memory is pinned only with CUDA at hand. Unsafe
where a loader would pin more or less than it does: `pin_memory=device.type == "cuda"`. Advice only where the deprecated
argument is a parameter that serves for nothing else, and for a torch before 2.5.

## Since torch

Any.
"""

from collections.abc import Iterator

from devfix_codemods.demands.pins import Pins
from devfix_codemods.findings import Finding
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule


def check(program: Program) -> Iterator[Finding]:
    """What is pinned, and what decides about it."""
    for one in Pins(program.index).told():
        yield one.finding(RULE.code, RULE.name, program.source)


RULE = Rule("DVF403", "pin-memory", ((b"pin_memory",),), check)
