"""The state of a recurrent network is made on the host.

## What it does

Finds hidden and cell states that are made on the host and given to an RNN, an LSTM, a GRU or one of their cells, and
makes them where the input, or the network, is.

## Why it fails

    RuntimeError: Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor
    at cpu

## Before

    def forward(self, x):
        h0 = torch.zeros(1, x.size(0), self.width)
        return self.gru(x, h0)

## After

    def forward(self, x):
        h0 = torch.zeros(1, x.size(0), self.width, device=x.device)
        return self.gru(x, h0)

## Fix safety

Safe: the call fails today wherever the network is not on the host, and where it is, nothing changes.

## Since torch

Any.
"""

from devfix_codemods.placement.graph import MADE
from devfix_codemods.placement.search import Conflict
from devfix_codemods.rules import Rule


def _owns(conflict: Conflict) -> bool:
    made = conflict.birth.birth in MADE
    return made and conflict.is_of_state and not conflict.is_of_attribute


RULE = Rule("DVF107", "hidden-state-off-device", owns=_owns)
