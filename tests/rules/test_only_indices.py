"""DVF104: a parameter that only picks may be on the host, and says nothing of where a new tensor belongs."""

import pytest

CODE = "DVF104"
CONFLICTS_ALONE = True

PICKED = """
import torch
from torch import nn
class Edges(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Linear(width, width)
        self.head = nn.Sequential(nn.Linear(width, 32), nn.Linear(32, 2))
    def forward(self, x, y, near):
        x = self.scale(x)
        edges = torch.zeros([len(near), near.shape[-1], 64])
        for i in range(len(near)):
            {read}
        return self.head(edges.reshape([-1, 64]))
"""


@pytest.mark.parametrize("index", ["near[i]", "torch.Tensor(near[i])", "near[i].long()"])
def test_what_only_picks_is_not_followed(rule, index: str) -> None:
    assert all(one is None for one in rule.safeties(PICKED.format(read=f"edges[i] = y[i][{index}]")))


@pytest.mark.parametrize("source", ["x[i][near[i]]", "x[i][torch.Tensor(near[i])]", "x[near[i], 0]"])
def test_the_source_of_its_rows_is_followed(rule, source: str) -> None:
    program = PICKED.format(read=f"edges[i, :, :] = {source}").replace("near.shape[-1], 64]", "x.shape[-1], 64]")
    assert "torch.zeros([len(near), x.shape[-1], 64], device=x.device)" in rule.fixed(program)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x = self.scale(x)", "x = self.mixed(x)"),
        ("x = self.scale(x)", "x = x.tolist()"),
        ("edges[i] = x[i][near[i]]", "edges[i] = x[i][near[i]]\n            edges[0] = y[i]"),
        ("edges[i] = x[i][near[i]]", "edges[i] = x[i][near[i]]\n            x = self.scale(x)"),
        ("edges[i] = x[i][near[i]]", "edges[i] = x[i][near[i]] + 1"),
    ],
)
def test_no_sure_source_of_its_rows(rule, old: str, new: str) -> None:
    program = PICKED.format(read="edges[i] = x[i][near[i]]").replace(old, new)
    program += "    def mixed(self, x):\n        return x[0]\n"
    assert all(one is None for one in rule.safeties(program.replace("[len(near)", "[x.shape[0]")))


def test_what_is_computed_with_is_followed(rule) -> None:
    after = rule.fixed(PICKED.format(read="edges[i] = x[i][near[i]] + near[i].sum()"))
    assert "torch.zeros([len(near), near.shape[-1], 64], device=near.device)" in after
