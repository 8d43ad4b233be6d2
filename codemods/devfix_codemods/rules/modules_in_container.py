"""Modules or parameters are kept in a plain list, tuple or dict.

## What it does

Finds modules and parameters that an `nn.Module` builds into a plain container, and keeps them in `nn.ModuleList`,
`nn.ModuleDict`, `nn.ParameterList` or `nn.ParameterDict`.

## Why it fails

A module knows its parts from its attributes: modules, parameters, and the containers of `torch.nn`, but not lists. So
`model.to(device)` leaves the layers in a list on the host:

    RuntimeError: Expected all tensors to be on the same device, but got mat1 is on cuda:0, different from other tensors
    on cpu (when checking argument in method wrapper_CUDA_addmm)

`model.parameters()` does not give their weights to the optimizer, `state_dict()` does not save them, and `eval()` does
not reach them.

## Before

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(8, 8) for _ in range(4)]

## After

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])

## Fix safety

Unsafe: `parameters()` and `state_dict()` gain what the container holds, so more is trained than before, and checkpoints
saved before lack these keys. Left alone are containers that the class uses in a way that those of `torch.nn` do not
support, or that may hold something else, parameters that the class itself makes on a device, lists of modules that are
registered elsewhere too, lists of one that keep a module out of the parameters, and lists whose parameters the class
handles itself.

## Since torch

Any.
"""

from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.unregistered import UNREGISTERED
from devfix_codemods.rules import Rule


def _owns(conflict: Conflict) -> bool:
    return UNREGISTERED in conflict.birth.links


RULE = Rule("DVF204", "modules-in-container", owns=_owns)
