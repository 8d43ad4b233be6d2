"""Modules that are wrapped where they are made, and moved by whoever calls the function that makes them."""

import pytest

CODE = "DVF202"

PROGRAM = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        return self.fc(x)
def build(gpus, wide):
    net = Net() if wide else nn.Linear(4, 2)
    if gpus:
        net = nn.DataParallel(net)
    return net
"""

MOVED = {
    "at the call": "def run(device):\n    return build([0], True).to(device)\n",
    "by its name, later": """
def run(device):
    net = build([0], True)
    net.train()
    net.to(device)
    return net
""",
    "behind a method that gives it back": """
def run():
    return build([0], True).eval().cuda()
""",
    "as an attribute": """
class Trainer:
    def __init__(self, device):
        self.device = device
        self.net = build([0], True)
        self.net.to(self.device)
""",
    "by another function that gives it": """
def load(path):
    net = build([0], False)
    net.load_state_dict(torch.load(path, map_location="cpu"))
    return net
def run(device):
    return load("a.pt").to(device)
""",
}
LEFT = {
    "nobody calls it": "",
    "to the host": "def run():\n    return build([0], True).to('cpu')\n",
    "given on": "def run():\n    return build([0], True)\n",
}


@pytest.mark.parametrize("callers", MOVED.values(), ids=MOVED)
def test_who_calls_it_moves_what_it_gives(rule, callers: str) -> None:
    assert rule.findings(PROGRAM + callers) == ()


@pytest.mark.parametrize("callers", LEFT.values(), ids=LEFT)
def test_some_caller_leaves_it(rule, callers: str) -> None:
    assert rule.findings(PROGRAM + callers) != ()
