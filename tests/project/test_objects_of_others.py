"""Objects of classes of other files that are called, and data sets: what they get, and where it has to be."""

from pathlib import Path

import pytest
from devfix.project.import_graph import DiskFiles
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

LOSS = """
import torch
from torch import nn
class Weighted({base}):
    def __init__(self, device):
        self.entropy = nn.CrossEntropyLoss(reduction="none")
        self.device = device
    def __call__(self, y, z, weights):
        return (self.entropy(z, y) * weights{moved}).mean()
"""
TRAINER = """
class Trainer:
    def __init__(self, model, data, device):
        self.model = model.to(device)
        self.device = device
        self.loss = Weighted(device)
        self.loader = DataLoader(data)
    def train(self):
        for x, y, weights in self.loader:
            out = self.model(x.to(self.device))
            loss = self.loss(y.to(self.device), out, weights)
            loss.backward()
"""
LOADS = "from torch.utils.data import DataLoader\n"
MOVED = ".to(torch.float32).to(self.device)"
BASES = ["", "object"]


def messages(folder: Path, program: str, **others: str) -> list[str]:
    for name, text in others.items():
        (folder / f"{name}.py").write_text(text)
    source, project = Source(str(folder / "train.py"), program.encode()), Project(DiskFiles(str(folder)))
    outcome = check(source, Options(frozenset({"DVF101", "DVF104"}), suggestions=True), project)
    assert isinstance(outcome, Checked)
    return [one.message for one in outcome.findings]


def found(folder: Path, program: str, **others: str) -> list[str]:
    return [one.partition(" stays")[0] for one in messages(folder, program, **others)]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("moved", "told"), [(MOVED, []), ("", ["`weights`"])])
def test_what_an_object_is_called_with(tmp_path: Path, base: str, moved: str, told: list[str]) -> None:
    loss = LOSS.format(base=base, moved=moved)
    assert found(tmp_path, f"{LOADS}from loss import Weighted\n{TRAINER}", loss=loss) == told


@pytest.mark.parametrize("base", BASES)
def test_an_object_of_the_same_file(tmp_path: Path, base: str) -> None:
    moved, left = (LOSS.format(base=base, moved=one) for one in (MOVED, ""))
    assert "`weights`" not in found(tmp_path, f"{LOADS}{moved}{TRAINER}")
    assert "`weights`" in found(tmp_path, f"{LOADS}{left}{TRAINER}")


DATA = """
from torch.utils.data import Dataset
class Rows(Dataset):
    def __init__(self, y, order):
        self.y, self.order = y, order.tolist()
    def __getitem__(self, at):
        return self.x[self.order[at]], self.y[at]
"""
RUN = """
import torch
from rows import Rows
from torch.utils.data import DataLoader
def train(found, net):
    net = net.cuda()
    y = torch.from_numpy(found["y"]).cuda()
    order = torch.from_numpy(found["order"])
    rows = Rows(y, -1.0 * order)
    for x, y in DataLoader(rows):
        loss = (net(x.cuda()) - y).sum()
        loss.backward()
"""


def test_a_data_set_keeps_each_part_for_itself(tmp_path: Path) -> None:
    assert not any("meets" in one for one in messages(tmp_path, RUN, rows=DATA))


def test_what_is_not_known_to_be_one_computes(tmp_path: Path) -> None:
    (told,) = messages(tmp_path, RUN)
    assert "meets `y` on CUDA in `Rows`" in told
