"""What numpy reads is computed of what one function gathers, and another one returns."""

import pytest

CODE = "DVF402"

PROGRAM = """
import numpy as np
import torch
def gathered(net, loader, device):
    first, second = [], []
    for x, y in loader:
        found = net.attribute(x.to(device), y.to(device))
        first.append(found[0]{first})
        second.append(found[1]{second})
    return torch.cat(first, dim=0), torch.cat(second, dim=0)
def interval(rows):
    mean = rows.mean(dim=0)
    error = rows.std(dim=0) / np.sqrt(rows.shape[0])
    return mean, mean + error
def importance(net, loader, device, both):
    one, other = gathered(net, loader, device)
    mean, high = interval(one.abs())
    if both:
        mean2, high2 = interval(other.abs().sum(dim=1))
        high = torch.cat([high, high2])
    return {{"mean": mean.detach().numpy(), "high": high.detach().numpy()}}
"""


def test_all_was_copied_to_the_host_before(rule) -> None:
    assert rule.findings(PROGRAM.format(first=".cpu()", second=".cpu()")) == ()


@pytest.mark.parametrize(("first", "second"), [("", ""), (".cpu()", "")])
def test_some_of_it_was_not(rule, first: str, second: str) -> None:
    assert rule.findings(PROGRAM.format(first=first, second=second)) != ()


SEARCHED = """
import torch
import torch.nn.functional as F
def soft(betas, scale=False):
    found = F.softmax(betas, dim=0)
    return torch.cat([found * 2 if scale else found, found])
class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.alphas = torch.nn.Parameter(torch.zeros(3))
        self.betas = torch.nn.Parameter(torch.zeros(3))
    def forward(self, x):
        return x * soft(self.betas) * self.alphas
    def genotype(self):
        alphas = F.softmax(self.alphas.detach().cpu(), dim=0).numpy()
        return alphas * soft(self.betas.detach(){copied}).numpy()
"""


def test_what_a_function_computes_of_a_copy_is_one_whatever_others_give_it(rule) -> None:
    assert rule.findings(SEARCHED.format(copied=".cpu()")) == ()


def test_what_a_function_computes_of_a_parameter_is_none(rule) -> None:
    assert "soft(self.betas.detach()).cpu().numpy()" in rule.fixed(SEARCHED.format(copied=""), unsafe=True)
