"""A training that is divided among files: who makes what, who computes with it, and what was left on the host."""

from collections.abc import Mapping
from dataclasses import replace
from textwrap import dedent

import pytest
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked
from devfix_codemods.source import Source

from .test_project import ALL, NET, found, patched

TRAIN = """
    import torch
    from torch import nn
    from data import get_loader
    from models import Net
    from engine import {engine}

    def main():
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        loader = get_loader()
        model = Net().to(device)
        criterion = nn.CrossEntropyLoss(weight=torch.ones(8)){moved}
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        {run}

    if __name__ == "__main__":
        main()
"""
DATA = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    rows = TensorDataset(torch.randn(32, 8), torch.randint(0, 8, (32,))){placed}

    def get_loader():
        {loader}
"""
LOADER = "return DataLoader(rows, batch_size=4, shuffle=True)"
FUNCTION = """
    import torch

    def train_epoch(model, loader, criterion, optimizer, device):
        model.train()
        for x, y in loader:
            x = x.to(device)
            {moves}
            x = x + 0.1 * torch.randn(x.shape, device=device)
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
"""
CLASS = """
    import torch

    class Trainer:
        def __init__(self, model, criterion, optimizer, device):
            self.model = model
            self.criterion = criterion
            self.optimizer = optimizer
            self.device = device

        def fit(self, loader):
            self.model.train()
            for x, y in loader:
                x, y = x.to(self.device), y.to(self.device)
                loss = {loss}(self.model(x), y)
                loss.backward()
                self.optimizer.step()
"""
WHOLE = """
    import torch
    from torch import nn

    def train(model, loader, device):
        model = model.to(device)
        criterion = nn.CrossEntropyLoss(weight=torch.ones(8)){moved}
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            x = x + 0.1 * torch.randn(x.shape, device=device)
            mask = torch.ones(x.size(0), 1, device=device)
            loss = criterion(model(x * mask), y)
            loss.backward()
            optimizer.step()
"""
MOVED = "y = y.to(device)"


def by_function(moves: str, loader: str = LOADER, placed: str = "") -> dict[str, str]:
    run = "train_epoch(model, loader, criterion, optimizer, device)"
    return {
        "train.py": TRAIN.format(engine="train_epoch", moved=".to(device)", run=run),
        "engine.py": FUNCTION.format(moves=moves),
        "data.py": DATA.format(loader=loader, placed=placed),
        "models.py": NET,
    }


def by_class(moved: str, loss: str = "self.criterion") -> dict[str, str]:
    run = "Trainer(model, criterion, optimizer, device).fit(loader)"
    return {
        "train.py": TRAIN.format(engine="Trainer", moved=moved, run=run),
        "engine.py": CLASS.format(loss=loss),
        "data.py": DATA.format(loader=LOADER, placed=""),
        "models.py": NET,
    }


SILENT: dict[str, Mapping[str, str]] = {
    "all is moved in a function": by_function(MOVED),
    "what gives the loader wraps it": by_function("pass", loader="return Ahead(DataLoader(rows))"),
    "all is moved in a class": by_class(".to(device)"),
    "a method of the trainer computes the loss": by_class("", loss="self.loss"),
}


@pytest.mark.parametrize("texts", SILENT.values(), ids=SILENT)
def test_silent(texts: Mapping[str, str]) -> None:
    assert [found(texts, name) for name in ("train.py", "engine.py")] == [[], []]


def test_a_weight_is_moved_with_its_module() -> None:
    """Two others are made on the device beside it, and that says nothing of it."""
    for moved, told in ((".to(device)", []), ("", ["DVF106"])):
        source = Source("train.py", dedent(WHOLE.format(moved=moved)).encode())
        outcome = check(source, replace(ALL, suggestions=True))
        assert isinstance(outcome, Checked)
        assert [one.code for one in outcome.findings] == told


def test_what_a_function_of_another_file_gives_is_a_loader() -> None:
    texts = by_function("pass")
    assert found(texts, "engine.py") == ["DVF101:10"]
    assert "y = y.to(device)" in patched(texts, "engine.py")


def test_an_attribute_that_is_called_on_the_way_to_backward_has_weights() -> None:
    texts = by_class("")
    assert found(texts, "train.py") == ["DVF106:12"]
    assert "torch.ones(8, device=device)" in patched(texts, "train.py")


MEASURED = """
    import torch

    def step(model, batch, criterion, device):
        x, y = batch
        y = y.to(device)
        noise = torch.randn({shape}, device=device)
        criterion(model(x + noise), y).backward()
"""


@pytest.mark.parametrize(("shape", "is_tensor"), [("4, 8", False), ("x.shape", True)])
def test_what_has_a_shape_and_is_added_to_a_tensor_is_one(shape: str, is_tensor: bool) -> None:
    assert found({"engine.py": MEASURED.format(shape=shape)}, "engine.py") == (["DVF101:8"] if is_tensor else [])
