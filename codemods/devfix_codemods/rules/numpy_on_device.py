"""A tensor that may be on a device is given to numpy, to what plots, or to another reader of the host's memory.

## What it does

Finds `.numpy()`, functions of numpy and of libraries that read as it does (scipy, scikit-learn, pandas, OpenCV …),
plots, and the lengths of `pack_padded_sequence`, on tensors that are on a device, or may be: what is moved, what a
model gives, what a function is given, what is detached, gradients, what a loop has collected, what the same function
copies to the host elsewhere. Puts `.cpu()` before; what a list holds is copied one by one.

## Why it fails

numpy reads the host's memory only:

    TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory
    first.
    RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor

## Before

    scores = model(images).detach().numpy()

## After

    scores = model(images).detach().cpu().numpy()

## Fix safety

Safe where the tensor is surely, or very probably, not on the host: `.cpu()` of a tensor on the host is that tensor
itself. Unsafe where that is less sure. Nothing is said of tensors that are made on the host, meet what is, or were
brought there before, and of arrays that are written to, which a copy would swallow. What stands in datasets,
transforms and tests is only suggested.

## Since torch

Any.
"""

from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.search import Conflict
from devfix_codemods.rules import Rule


def _owns(conflict: Conflict) -> bool:
    return conflict.birth.birth is Birth.READER and not conflict.is_of_copied_table


RULE = Rule("DVF402", "numpy-on-device", owns=_owns)
