"""DVF101: loaders over what was moved before they were built."""

from pathlib import Path

import pytest
from devfix.project.import_graph import DiskFiles
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

CODE = "DVF101"

DATA = """
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Rows(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __getitem__(self, index):
        return self.x["rows"][index], self.y["rows"][index]

    def __len__(self):
        return len(self.y["rows"])


def loaders(x, y, device, size):
    {lines}
    loader = DataLoader({rows}, batch_size=size, shuffle=True)
    return x, loader
"""

PLACED = {
    "as the items of mappings": (
        "x, y = ({k: v.to(device) for k, v in one.items()} for one in (x, y))",
        "dataset=Rows(x, y)",
    ),
    "one after the other": (
        "x, y = ({k: v.cuda() for k, v in one.items()} for one in (x, y))\n    y = long(y)\n    rows = Rows(x, y)",
        "rows",
    ),
    "in the call": ("pass", "Rows(to_device(x, device), to_device(y, device))"),
    "where they are made": (
        "y = {k: torch.tensor(v, device=device) for k, v in y.items()}\n    rows = Rows(x, y)",
        "rows",
    ),
    "in a list": ("parts = [one.to(device) for one in (x, y)]\n    rows = Rows(*parts)", "rows"),
}

TRAIN = """
from data import loaders


class Base:
    def __init__(self, args):
        self.args = args

    def prepare(self, x, y):
        self.x, self.loader = loaders(x, y, self.args.device, 8)
"""

LOOP = """
import torch
from base import Base


class Method(Base):
    def build(self):
        self.net = torch.nn.Linear(3, 3).to(self.args.device)

    def step(self):
        for i, (x, y) in enumerate(self.loader, 1):
            print(i, torch.nn.functional.mse_loss(self.net(x[0].to(self.args.device)), y))
"""

OWN = """
class Method:
    def __init__(self, args):
        self.args = args

    def prepare(self, x, y):
        self.x, self.loader = {maker}(x, y, self.args.device, 8)

    def step(self):
        for x, y in self.loader:
            weights = torch.ones(3).to(self.args.device)
            print(y * weights)
"""

STAYS = {
    "nothing is moved": ("pass", "Rows(x, y)"),
    "a model is moved": ("net = torch.nn.Linear(3, 3).to(device)", "Rows(x, y)"),
    "another dtype": ("x = {k: v.to(torch.float) for k, v in x.items()}\n    rows = Rows(x, y)", "rows"),
    "to the host": ("x = {k: v.to('cpu') for k, v in x.items()}\n    rows = Rows(x, y)", "rows"),
}


def _found(folder: Path, lines: str, rows: str) -> int:
    (folder / "data.py").write_text(DATA.replace("{lines}", lines).replace("{rows}", rows))
    (folder / "base.py").write_text(TRAIN)
    source, project = Source(str(folder / "train.py"), LOOP.encode()), Project(DiskFiles(str(folder)))
    outcome = check(source, Options(frozenset({CODE})), project)
    assert isinstance(outcome, Checked)
    return len(outcome.findings)


@pytest.mark.parametrize(("lines", "rows"), PLACED.values(), ids=PLACED)
def test_a_function_of_another_file_places_what_its_loader_yields(tmp_path: Path, lines: str, rows: str) -> None:
    assert _found(tmp_path, lines, rows) == 0


@pytest.mark.parametrize(("lines", "rows"), STAYS.values(), ids=STAYS)
def test_a_function_of_another_file_leaves_it(tmp_path: Path, lines: str, rows: str) -> None:
    assert _found(tmp_path, lines, rows) == 1


@pytest.mark.parametrize(("lines", "rows"), PLACED.values(), ids=PLACED)
def test_a_function_of_the_file_places_what_its_loader_yields(rule, lines: str, rows: str) -> None:
    program = DATA.replace("{lines}", lines).replace("{rows}", rows) + OWN.format(maker="loaders")
    assert rule.findings(program) == ()


@pytest.mark.parametrize(("lines", "rows"), STAYS.values(), ids=STAYS)
def test_a_function_of_the_file_leaves_it(rule, lines: str, rows: str) -> None:
    program = DATA.replace("{lines}", lines).replace("{rows}", rows) + OWN.format(maker="loaders")
    assert len(rule.findings(program)) == 1


METHOD = """
import torch
from torch.utils.data import DataLoader
from rows import Rows


class Trainer:
    def __init__(self, x, device):
        self.x, self.device = x, device

    def prepare(self):
        {line}
        return DataLoader(Rows(self.x), batch_size=4)

    def run(self):
        batches_of_loader = self.prepare()
        for x in batches_of_loader:
            print(x * torch.ones(3).to(self.device))
"""


def test_a_method_places_an_attribute_first(rule) -> None:
    assert rule.findings(METHOD.format(line="self.x = self.x.to(self.device)")) == ()
    assert len(rule.findings(METHOD.format(line="self.y = self.x.to(self.device)"))) == 1
