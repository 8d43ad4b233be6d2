"""Tensors that a module keeps for methods which its base, in another file, has."""

from pathlib import Path

import pytest
from devfix.project.import_graph import DiskFiles
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

BASE = """
from torch import nn
class Scaled(nn.Module):
    def scale(self, x):
        {body}
"""

PROGRAM = """
import torch
from base import Scaled
from torch import nn
class Encoder(Scaled):
    def __init__(self):
        super().__init__()
        self.shift = torch.tensor([0.5, 0.4, 0.3])
        self.head = nn.Linear(3, 2)
    def forward(self, x):
        return self.head(self.scale(x))
def train(loader):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Encoder().to(device)
    for x in loader:
        model(x.to(device))
"""


def titles(folder: Path, body: str) -> list[str]:
    (folder / "base.py").write_text(BASE.format(body=body))
    source, project = Source(str(folder / "train.py"), PROGRAM.encode()), Project(DiskFiles(str(folder)))
    outcome = check(source, Options(frozenset({"DVF203"})), project)
    assert isinstance(outcome, Checked)
    return [one.fix.title for one in outcome.findings if one.fix is not None]


@pytest.mark.parametrize(
    "body", ["return x * 2", "return x + self.shift.to(x.device)", "return self.shift.max().item() * x"]
)
def test_what_the_base_computes_without_it_or_moves(tmp_path: Path, body: str) -> None:
    assert titles(tmp_path, body) == []


@pytest.mark.parametrize(
    "body", ["return x - self.shift", "return (2 * x + 1) / self.shift", "return x[0] * self.shift"]
)
def test_what_the_base_computes_with_its_input(tmp_path: Path, body: str) -> None:
    assert titles(tmp_path, body) == ["Register `shift` as a buffer that is not saved (`persistent=False`)"]
