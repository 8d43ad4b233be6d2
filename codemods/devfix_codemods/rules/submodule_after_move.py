"""A submodule is replaced or added after the model was moved.

## What it does

Finds modules that are built on the host and attached to a model which is on a device already, and moves the model
again after the last of them.

## Why it fails

`model.to(device)` moves what the model holds at that moment. A head that is put in afterwards stays on the host:

    RuntimeError: Expected all tensors to be on the same device, but got mat2 is on cpu, different from other tensors on
    cuda:0 (when checking argument in method wrapper_CUDA_mm)

## Before

    model.to(device)
    model.head = nn.Linear(768, 2)
    train(model, loader, device)

## After

    model.to(device)
    model.head = nn.Linear(768, 2)
    model.to(device)
    train(model, loader, device)

## Fix safety

Safe where the model is seen to be used before anything moves it again. Unsafe where it is only handed on (returned, or
passed to code in another file), which may still move it.

## Since torch

Any.
"""

from devfix_codemods.placement.late_parts import ATTACHED
from devfix_codemods.placement.search import Conflict
from devfix_codemods.rules import Rule


def _owns(conflict: Conflict) -> bool:
    return ATTACHED in conflict.birth.links


RULE = Rule("DVF201", "submodule-after-move", owns=_owns)
