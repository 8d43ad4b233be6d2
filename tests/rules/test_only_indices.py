"""DVF104: a parameter that only picks may be on the host, and says nothing of where a new tensor belongs."""

import pytest

CODE = "DVF104"

PICKED = """
import torch
from torch import nn
class Edges(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Linear(width, width)
        self.head = nn.Sequential(nn.Linear(width, 32), nn.Linear(32, 2))
    def forward(self, x, near):
        x = self.scale(x)
        edges = torch.zeros([len(near), near.shape[-1], 64])
        for i in range(len(near)):
            {read}
        return self.head(edges.reshape([-1, 64]))
"""


@pytest.mark.parametrize("index", ["near[i]", "torch.Tensor(near[i])", "near[i].long()"])
def test_what_only_picks_is_not_followed(rule, index: str) -> None:
    assert all(one is None for one in rule.safeties(PICKED.format(read=f"edges[i] = x[i][{index}]")))


def test_what_is_computed_with_is_followed(rule) -> None:
    after = rule.fixed(PICKED.format(read="edges[i] = x[i][near[i]] + near[i].sum()"))
    assert "torch.zeros([len(near), near.shape[-1], 64], device=near.device)" in after
