"""A tensor made on the host meets a tensor on a device.

## What it does

Finds tensors that a factory puts on the host (`zeros`, `ones`, `arange`, `eye`, `rand`, `tensor`, `from_numpy` ...)
and that then meet a tensor which lives elsewhere: on a device that the program chose, or wherever the caller put the
tensors that a function gets. The factory is given `device=`; one that takes no device gets `.to(...)` after it. So
does a legacy constructor that was given one, `torch.Tensor(3, device=device)`: on anything but the host that fails.
Samples of a distribution whose parameters are numbers, or on the host, count as made there too; its parameters must be
where a tensor is that `log_prob` gets.
Also finds those that take their size or dtype from a tensor, that are filled with what was moved, that have neighbours
elsewhere, or whose function has a `device` that it uses for nothing, or gives them its `dtype` alone; and objects of a
file's own classes that are not given the `device` which those around them get.

## Why it fails

Factories know nothing of the tensors around them. As soon as the caller's tensors are on an accelerator:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

## Before

    def causal(scores):
        mask = torch.ones(scores.size(-1), scores.size(-1)).triu(1).bool()
        return scores.masked_fill(mask, float("-inf"))

## After

    def causal(scores):
        mask = torch.ones(scores.size(-1), scores.size(-1), device=scores.device).triu(1).bool()
        return scores.masked_fill(mask, float("-inf"))

## Fix safety

Safe: a tensor that must be where another one is follows that one, which changes nothing where both are on the host.
Unsafe where the way to the other tensor leads through calls and attributes that say less, where the new tensor is used
in other ways as well that may want it on the host, and where losses are added to a 0-dim tensor in place, which becomes
a new sum each time. Where only a size, a dtype or neighbours tell where it belongs, the edit is a suggestion. 0-dim
tensors in arithmetic, indices, values on the way to numpy, datasets, collate functions, attributes of `self`, and tests
that choose no device, are left alone.

## Since torch

Any.
"""

from devfix_codemods.placement.graph import MADE
from devfix_codemods.placement.search import Conflict
from devfix_codemods.rules import Rule


def _owns(conflict: Conflict) -> bool:
    """Not what is indexed, what weighs a loss, states, nor what is kept in an attribute: other rules repair those."""
    made = conflict.birth.birth in MADE and not conflict.is_of_attribute
    return made and not conflict.is_of_index and not conflict.is_of_weight and not conflict.is_of_state


RULE = Rule("DVF104", "factory-without-device", owns=_owns)
