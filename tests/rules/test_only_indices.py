"""DVF104: a parameter that only picks may be on the host, and says nothing of where a new tensor belongs."""

import pytest
from devfix_codemods.findings import Safety

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
    program = PICKED.format(read=f"edges[i] = y[i][{index}]")
    assert "device=x.device" in rule.fixed(program, unsafe=True)
    assert rule.safeties(program.replace("x = self.scale(x)", "x = 1")) == []


@pytest.mark.parametrize("source", ["x[i][near[i]]", "x[i][torch.Tensor(near[i])]", "x[near[i], 0]"])
def test_what_a_part_of_the_module_gives_is_followed(rule, source: str) -> None:
    program = PICKED.format(read=f"edges[i, :, :] = {source}").replace("near.shape[-1], 64]", "x.shape[-1], 64]")
    after = rule.fixed(program, unsafe=True)
    assert "torch.zeros([len(near), x.shape[-1], 64], device=x.device)" in after


MADE = {"x = self.mixed(x)": [Safety.UNSAFE], "x = x.tolist()": []}


@pytest.mark.parametrize(("made", "safeties"), MADE.items())
def test_what_something_else_gives_is_no_index(rule, made: str, safeties: list[Safety]) -> None:
    program = PICKED.format(read="edges[i] = x[i][near[i]]").replace("x = self.scale(x)", made)
    program += "    def mixed(self, x):\n        return x[0]\n"
    program = program.replace("[len(near)", "[x.shape[0]")
    assert rule.safeties(program) == safeties
    if safeties:
        assert "device=x.device" in rule.fixed(program, unsafe=True)


def test_what_is_computed_with_is_followed(rule) -> None:
    after = rule.fixed(PICKED.format(read="edges[i] = x[i][near[i]] + near[i].sum()"), unsafe=True)
    assert "torch.zeros([len(near), near.shape[-1], 64], device=" in after
