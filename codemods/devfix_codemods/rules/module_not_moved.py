"""A module is built on the host and never moved, while its data is.

## What it does

Finds models, discriminators and loss modules with parameters that are called with values on a device, but were never
moved there, and moves them where they are built. So it does for a model that a class keeps while it moves its batches,
and for a module that places its inputs but not itself, as others of its family do.

## Why it fails

Modules are built on the host. The first layer raises

    RuntimeError: Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same

or, for a linear layer, `Expected all tensors to be on the same device, but got mat2 is on cpu, different from other
tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm)`.

## Before

    model = Net()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = criterion(model(x), y)

## After

    model = Net().to(device)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = criterion(model(x), y)

## Fix safety

Safe: the call fails today wherever the device is not the host, and where it is, the move does nothing. Unsafe where the
module goes through attributes, where it follows an input, where a class is moved in its constructor, and for objects of
a class that cannot be read, which are modules by their use: such a constructor may have moved them.

## Since torch

Any.
"""

from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.late_parts import ATTACHED
from devfix_codemods.placement.metrics import is_metric
from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.unregistered import UNREGISTERED
from devfix_codemods.rules import Rule


def _owns(conflict: Conflict) -> bool:
    """A module that gets what an unread function gives is no matter: nothing says that this is elsewhere."""
    if conflict.birth.birth is not Birth.MODULE or "unread" in conflict.links:
        return False
    elsewhere = ATTACHED in conflict.birth.links or UNREGISTERED in conflict.birth.links
    return not elsewhere and not is_metric(conflict.birth)


RULE = Rule("DVF202", "module-not-moved", owns=_owns)
