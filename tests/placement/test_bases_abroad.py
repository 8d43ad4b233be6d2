"""Modules whose base is in another file: where they are, and what they keep for its methods."""

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


MADE = """
import lightning
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
class Base({base}):
    def __init__(self):
        super().__init__()
        self.layer = {part}
        {ends}
"""
DERIVED = """
import torch
from base import Base
class Critic(Base):
    def forward(self, x):
        return self.layer(x)
def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    critic = Critic()
    critic(torch.zeros(2, 3, device=device))
"""


@pytest.mark.parametrize(
    ("base", "part", "ends", "lines"),
    [
        ("nn.Module", "nn.Linear(3, 3)", "pass", [10]),
        ("nn.Module", "nn.Linear(3, 3)", "self.to(device)", []),
        ("nn.Module", "nn.ReLU()", "pass", []),
        ("lightning.LightningModule", "nn.Linear(3, 3)", "pass", []),
    ],
)
def test_a_module_holds_what_its_base_makes(tmp_path: Path, base: str, part: str, ends: str, lines: list[int]) -> None:
    (tmp_path / "base.py").write_text(MADE.format(base=base, part=part, ends=ends))
    source, project = Source(str(tmp_path / "train.py"), DERIVED.encode()), Project(DiskFiles(str(tmp_path)))
    outcome = check(source, Options(frozenset({"DVF202"})), project)
    assert isinstance(outcome, Checked)
    assert [one.span.line for one in outcome.findings] == lines


SCRIPT = """
    import {framework}
    {head}
        for image, label in loader:
            image = image.to(device)
            keep(image, label.float())
"""


@pytest.mark.parametrize(
    ("framework", "head"),
    [
        ("accelerate", "def step(loader, device):"),
        ("lightning", "def step(loader, device):"),
        ("pytorch_lightning as pl", "class Net(pl.LightningModule):\n      def step(self, loader, device):"),
    ],
)
def test_a_framework_may_have_placed_what_is_left(placed, framework: str, head: str) -> None:
    assert placed(SCRIPT.format(framework=framework, head=head)).births == []


def test_lightning_places_nothing_for_functions(placed) -> None:
    program = SCRIPT.format(framework="pytorch_lightning as pl", head="def step(loader, device):")
    assert placed(program).births == ["label"]
