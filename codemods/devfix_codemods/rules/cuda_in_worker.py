"""The workers of a loader do work on a device.

## What it does

Finds loaders with `num_workers` above 0 whose dataset (in `__getitem__`, and what that calls) or collate function moves
tensors to a device that the program chose, or makes them there, and those whose items live on a device already.

## Why it fails

Workers are forked, and a forked process cannot use the CUDA of its parent:

    RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the
    'spawn' start method

or, where the tensors were on the device before, `CUDA error: initialization error`.

## Before

    class Images(Dataset):
        def __getitem__(self, index):
            return self.images[index].to(device), self.labels[index]

    loader = DataLoader(Images(), batch_size=32, num_workers=4)
    for image, label in loader:
        loss = criterion(model(image.to(device)), label.to(device))

## After

    class Images(Dataset):
        def __getitem__(self, index):
            return self.images[index], self.labels[index]

    loader = DataLoader(Images(), batch_size=32, num_workers=4)
    for image, label in loader:
        loss = criterion(model(image.to(device)), label.to(device))

## Fix safety

Unsafe: where the loops over the loader move that part of its batches, the move in the worker goes; elsewhere the loader
works in the main process, `num_workers=0`. Better than either is often to move whole batches in the loop. Loaders
without workers, and programs that choose another start method, are left alone: there, all of this works.

## Since torch

Any.
"""

from collections.abc import Iterator

from devfix_codemods.demands.workers import Workers
from devfix_codemods.findings import Finding
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule


def check(program: Program) -> Iterator[Finding]:
    """What the workers of loaders do on a device, or read there."""
    for one in Workers(program.index).told():
        yield one.finding(RULE.code, RULE.name, program.source)


RULE = Rule(
    "DVF405",
    "cuda-in-worker",
    ((b"num_workers", b".to("), (b"num_workers", b".cuda("), (b"num_workers", b"device=")),
    check,
)
