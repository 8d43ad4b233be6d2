"""A tensor from a data loader never reaches the model's device.

## What it does

Finds elements of a loader's batch that stay on the host while the model, the loss or the other elements of the same
batch are on a device, and moves them where their siblings are moved, in the same style. Also finds parameters of
functions that stay where they are beside others which are moved, and tensors that only one path moves.

## Why it fails

Workers collate batches on the host. What the loop does not move stays there, and the first operation that needs both
raises

    RuntimeError: Expected all tensors to be on the same device, but got target is on cpu, different from other tensors
    on cuda:0 (when checking argument in method wrapper_CUDA_nll_loss_forward)

(before torch 2.8: `… but found at least two devices, cuda:0 and cpu!`).

## Before

    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        loss = criterion(model(images), labels)

## After

    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        loss = criterion(model(images), labels)

## Fix safety

Safe where the element is known to be a tensor and meets what is surely on a device: it enters a loss, tensor
arithmetic, or a model that is moved. A move to where a tensor already is does nothing. Unsafe where weaker evidence
leads there: a method that is not read, an operand that may be a number, a mapping whose entries are all moved. Elements
that look like text or lengths, code that Lightning, Accelerate or DeepSpeed place, datasets and collate functions are
left alone.

## Since torch

Any.
"""

from devfix_codemods.placement.graph import OF_BATCHES
from devfix_codemods.placement.search import Conflict
from devfix_codemods.rules import Rule


def _owns(conflict: Conflict) -> bool:
    return conflict.birth.birth in OF_BATCHES


RULE = Rule("DVF101", "batch-not-moved", owns=_owns)
