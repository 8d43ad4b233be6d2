"""Modules of other files whose `forward` moves what it gets."""

from pathlib import Path

import pytest
from devfix.project.import_graph import DiskFiles
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 2)
    def forward(self, x, mask=None, dtype=None):
        {first}
        if mask is not None:
            mask = mask.to(self.head.weight.device)
        return self.head(x) if mask is None else self.head(x) * mask
"""
PROGRAM = """
from net import Net
from torch.utils.data import DataLoader
def train(data, device):
    model = Net().to(device)
    for x, mask in DataLoader(data):
        model(x, mask=mask)
"""


def found(folder: Path, first: str) -> list[str]:
    (folder / "net.py").write_text(NET.format(first=first))
    source, project = Source(str(folder / "train.py"), PROGRAM.encode()), Project(DiskFiles(str(folder)))
    outcome = check(source, Options(frozenset({"DVF101"})), project)
    assert isinstance(outcome, Checked)
    return [one.message.partition(" stays")[0] for one in outcome.findings]


@pytest.mark.parametrize("first", ["x = x.to(self.head.weight.device)", "x = x.float().cuda()"])
def test_what_the_module_moves_itself(tmp_path: Path, first: str) -> None:
    assert found(tmp_path, first) == []


@pytest.mark.parametrize("first", ["x = x.to(self.head.weight.dtype)", "x = x.float()", "x = x.to(dtype)"])
def test_what_it_does_not(tmp_path: Path, first: str) -> None:
    assert found(tmp_path, first) == ["`x`"]
