"""The weights of a loss stay on the host.

## What it does

Finds class weights and `pos_weight` that were made on the host and given to a loss whose predictions live elsewhere:
to its functional form, or to a loss module that is never moved. The fix makes them where the predictions are.

## Why it fails

A loss module keeps its weights as buffers, and nobody thinks of moving a loss. Predictions and targets are both on
the device, and still:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    (when checking argument for argument weight in method wrapper_CUDA_nll_loss_forward)

## Before

    weights = torch.tensor([0.2, 0.8])
    criterion = nn.CrossEntropyLoss(weight=weights)
    for x, y in loader:
        loss = criterion(model(x.to(device)), y.to(device))

## After

    weights = torch.tensor([0.2, 0.8], device=device)
    criterion = nn.CrossEntropyLoss(weight=weights)
    for x, y in loader:
        loss = criterion(model(x.to(device)), y.to(device))

## Fix safety

Safe where the predictions are surely elsewhere, or the weights follow a tensor that is there: the loss fails today
wherever that is not the host, and where it is, nothing changes. Unsafe where a device has to be chosen.

## Since torch

Any.
"""

from devfix_codemods.placement.graph import MADE
from devfix_codemods.placement.search import Conflict
from devfix_codemods.rules import Rule


def _owns(conflict: Conflict) -> bool:
    return conflict.birth.birth in MADE and conflict.is_of_weight


RULE = Rule("DVF106", "loss-weight-off-device", owns=_owns)
