"""A mask or an index on a device goes into a tensor on the host.

## What it does

Finds tensors on the host that are indexed by masks or indices that live elsewhere, and makes the indexed tensor where
its index is. A tensor that stays on the host, as numpy reads it or as the program moves what it picks from it, is left
there, and so is one that the program copied there: then the index is copied to it.

## Why it fails

A host index into a device tensor is allowed; the reverse is not:

    RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)

## Before

    def match(scores, threshold):
        ids = torch.arange(scores.size(0))
        return ids[scores > threshold]

## After

    def match(scores, threshold):
        ids = torch.arange(scores.size(0), device=scores.device)
        return ids[scores > threshold]

## Fix safety

Safe: the operation fails today wherever the index is on a device, and where it is on the host, nothing changes.

## Since torch

Any.
"""

from devfix_codemods.placement.graph import MADE
from devfix_codemods.placement.search import Conflict
from devfix_codemods.rules import Rule


def _owns(conflict: Conflict) -> bool:
    return conflict.is_of_copied_table or (conflict.birth.birth in MADE and conflict.is_of_table)


RULE = Rule("DVF105", "index-off-device", owns=_owns)
