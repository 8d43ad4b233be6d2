"""DVF202: modules that get batches which a data set has placed on a device."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF202"

PROGRAM = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Points(Dataset):
    def __init__(self, points, device=None):
        self.points = points
        self.device = device

    def __len__(self):
        return len(self.points)

    def __getitem__(self, i):
        {item}

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(Points(torch.randn(8, 3), {given}), batch_size=2{options})
net = nn.Linear(3, 1)
for x, y in loader:
    net(x).sum().backward()
"""
MOVED = "return self.points[i].to(self.device), i"


def program(item: str = MOVED, given: str = "device", options: str = "") -> str:
    return PROGRAM.format(item=item, given=given, options=options)


SILENT = {
    "items stay on the host": program("return self.points[i], i"),
    "the part that the module gets stays there": program("return self.points[i], self.points[i].to(self.device)"),
    "on some path only": program(
        "if i:\n            return self.points[i].to(self.device), i\n        return self.points[i], i"
    ),
    "the host is asked for": program(given="torch.device('cpu')"),
    "no device is given": program(given="None"),
    "copied back": program("return self.points[i].to(self.device).cpu(), i"),
    "another function makes the batches": program(options=", collate_fn=lambda rows: (rows, rows)"),
}
FOUND = {
    "moved": program(),
    "made there": program("return torch.tensor([1.0, 2.0, 3.0], device=self.device), i"),
    "and computed with": program("return self.points[i].to(self.device).float().flatten(), i"),
    "given by its name": program(given="device=device"),
    "stored before it is returned": program("x = self.points[i]\n        x = x.to(self.device)\n        return x, i"),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_silent(rule, text: str) -> None:
    assert [one for one in rule.findings(text) if one.confidence > 0.7] == []


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND.keys())
def test_found(rule, text: str) -> None:
    assert rule.safeties(text) == [Safety.UNSAFE]
    assert "net = nn.Linear(3, 1).to(device)" in rule.fixed(text, unsafe=True)


def test_cuda_by_name(rule) -> None:
    assert rule.safeties(program("return self.points[i].cuda(), i")) == [Safety.UNSAFE]
