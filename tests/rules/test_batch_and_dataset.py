"""DVF101: data sets that say where their items are, and parts of a batch that follow each other."""

import pytest

CODE = "DVF101"

HEAD = """
import torch
from torch.utils.data import DataLoader
from torch.nn.functional import mse_loss


def run(data, device):
    net = torch.nn.Linear(3, 3).to(device)
"""

PLACED = {
    "a tensor is made where the data set is": """
    total = torch.zeros((), device=data.device)
    for x, y in DataLoader(data):
        total = total + mse_loss(net(x), y)
""",
    "by way of the loader": """
    loader = DataLoader(data)
    total = torch.zeros((), device=loader.dataset.device)
    for x, y in loader:
        total = total + mse_loss(net(x), y)
""",
    "the model goes there": """
    net = net.to(data.device)
    for x, y in DataLoader(data):
        print(mse_loss(net(x), y))
""",
    "an attribute": """
class Fit:
    def __init__(self, data, device):
        self.net = torch.nn.Linear(3, 3).to(device)
        self.data = data
    def zero(self):
        return torch.zeros((), device=self.data.device)
    def fit(self):
        for x, y in DataLoader(self.data):
            print(mse_loss(self.net(x), y))
""",
}


@pytest.mark.parametrize("body", PLACED.values(), ids=PLACED)
def test_the_items_of_a_data_set_that_has_a_device_are_there(rule, body: str) -> None:
    assert rule.findings(HEAD + body) == ()


def test_those_of_others_are_on_the_host(rule) -> None:
    body = PLACED["a tensor is made where the data set is"].replace("data.device", "device")
    assert "x = x.to(device, non_blocking=True)" in rule.fixed(HEAD + body, unsafe=True)


def test_items_that_a_loop_moves_to_the_device_of_the_data_set_were_not_there(rule) -> None:
    body = "    for x, y in DataLoader(data):\n        x = x.to(data.device)\n        print(mse_loss(net(x), y))\n"
    assert "y = y.to(data.device)" in rule.fixed(HEAD + body)


PARTS = """
import torch
from torch.utils.data import DataLoader


class Net(torch.nn.Module):
    def __init__(self, data):
        super().__init__()
        self.data = data
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        out = self.layer(x)
        return out, out > 0

    def evaluate(self):
        for x, y in DataLoader(self.data):
            out, mask = self(x)
            print(y.masked_select(mask))


def main(data):
    net = Net(data)
    net.to("cuda" if torch.cuda.is_available() else "cpu")
    net.evaluate()
"""


def test_a_part_follows_another_to_the_device_of_a_module(rule) -> None:
    after = rule.unchanged_unless_unsafe(PARTS)
    assert "x = x.to(next(self.parameters()).device, non_blocking=True)" in after
    assert "y = y.to(next(self.parameters()).device, non_blocking=True)" in after
