"""A module is built on the host and never moved, while its data is.

## What it does

Finds models, discriminators and loss modules with parameters that are called with values on a device, but were never
moved there, and moves them where they are built. It also finds a model that a class keeps and never moves, although it
moves the batches; a module that moves its inputs, but not itself, although other modules of its family do; and a part
of an object beside those that are moved where they are made.

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

Safe: where the device is not the host, the call fails today; where it is the host, the move does nothing. Unsafe where
the module is kept in attributes, where it follows an input, and where a class is moved in its own constructor;
also where the class of the module cannot be read, since its constructor may have moved it already.

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
    """Conflicts that begin at a module, and are not those of a rule of its own: DVF201, DVF204 and DVF205.

    If the module meets what a function returns that cannot be read, nothing says that this is on a device.
    """
    birth = conflict.birth
    if birth.birth is not Birth.MODULE or "unread" in conflict.links:
        return False
    is_put_in_late, is_in_plain_container = ATTACHED in birth.links, UNREGISTERED in birth.links
    return not is_put_in_late and not is_in_plain_container and not is_metric(birth)


RULE = Rule("DVF202", "module-not-moved", owns=_owns)
