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
