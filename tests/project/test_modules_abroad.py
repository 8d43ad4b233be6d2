"""Modules of classes, and by functions and methods, that stand in other files than what makes them."""

import pytest

from .test_project import patched

PARTS = """
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.layers = {layers}

        def forward(self, x):
            return self.layers(x)

    class Net(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.first = Encoder(n)
            self.second = Encoder(n)

        def forward(self, x):
            return self.second(self.first(x))
"""
TRAINING = """
    import torch

    def fit(model, loader, device):
        optimizer = torch.optim.Adam(model.parameters())
        for x, y in loader:
            x = x.to(device)
            {shown}
            loss = model(x).sum()
            loss.backward()
            optimizer.step()
"""
MAIN = """
    import torch
    from parts import Net
    from training import fit

    def main(loader):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = Net(3)
        fit(net, loader, device)
"""
LINEAR = "nn.Sequential(nn.Linear(n, n), nn.ReLU())"


def fitted(layers: str, shown: str) -> str:
    texts = {"parts.py": PARTS.format(layers=layers), "training.py": TRAINING.format(shown=shown), "main.py": MAIN}
    return patched(texts, "main.py")


def test_parts_without_tensors_need_no_device() -> None:
    assert "Net(3).to(device)" not in fitted("nn.ReLU()", "pass")


@pytest.mark.parametrize("shown", ["pass", "x = x.view(-1, 3)", "x = x.float()[:, 0]"])
def test_parts_of_another_file_may_hold_tensors(shown: str) -> None:
    assert "Net(3).to(device)" in fitted(LINEAR, shown)


OWN = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.layer = nn.Linear(n, n)

        def forward(self, x):
            return self.layer(x)

        def fit(self, loader, device):
            {first}
            for x, y in loader:
                x, y = x{placed}, y{placed}
                loss = (self(x) - y).sum()
                loss.backward()
"""
CALLER = """
    import torch
    from parts import Net

    def main(loader):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = Net(3)
        net.fit(loader, device)
"""


def called(first: str, placed: str) -> str:
    return patched({"parts.py": OWN.format(first=first, placed=placed), "main.py": CALLER}, "main.py")


@pytest.mark.parametrize(("first", "placed"), [("self.to(device)", ".to(device)"), ("pass", "")])
def test_a_method_that_moves_its_object_or_nothing(first: str, placed: str) -> None:
    assert "Net(3).to(device)" not in called(first, placed)


def test_a_method_that_calls_its_object_with_what_it_moves() -> None:
    assert "Net(3).to(device)" in called("pass", ".to(device)")


@pytest.mark.parametrize(("first", "moved"), [("self.to(device)", False), ("pass", True)])
def test_such_a_method_in_the_same_file(first: str, moved: bool) -> None:
    text = OWN.format(first=first, placed=".to(device)").replace(
        "    from torch import nn", "    import torch\n    from torch import nn"
    )
    text += CALLER.partition("import Net\n")[2]
    assert ("Net(3).to(device)" in patched({"main.py": text}, "main.py")) is moved


ENERGIES = """
    from torch import nn

    class Energy(nn.Module):
        def __init__(self):
            super().__init__()
            {kept}

        def __add__(self, other):
            return Sum([self, other])

        def forward(self, x, y):
            return nn.functional.cross_entropy(x, y)

    class Sum(Energy):
        def __init__(self, parts):
            super().__init__()
            self.parts = nn.ModuleList(parts)
"""
ENERGY = """
    import torch
    from energies import Energy
    from parts import Net

    def main(x, y):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = Net(3).to(device)
        loss = Energy()(net(x.to(device)), y.to(device))
        loss.backward()
"""


@pytest.mark.parametrize(("kept", "moved"), [("self.size = 3", False), ("self.layer = nn.Linear(3, 3)", True)])
def test_what_a_method_makes_for_others_is_no_part(kept: str, moved: bool) -> None:
    texts = {"energies.py": ENERGIES.format(kept=kept), "parts.py": PARTS.format(layers=LINEAR), "main.py": ENERGY}
    assert ("Energy().to(device)" in patched(texts, "main.py")) is moved


WRAPPER = """
    from torch import nn
    from base import Base

    class Distance(Base):
        def initialize(self, size):
            self.net = nn.Linear(size, size)

        def forward(self, x, y):
            return self.net(x) - self.net(y)
"""
SCORING = """
    import torch
    from distance import Distance

    class Scores:
        def __init__(self, size):
            self.device = torch.device("cuda")
            self.distance = Distance()
            self.distance.initialize(size)

        def score(self, x, y):
            x = torch.FloatTensor(x).to(self.device)
            y = torch.FloatTensor(y).to(self.device)
            return self.distance.forward(x, y)
"""


@pytest.mark.parametrize(
    ("base", "is_moved"),
    [("class Base:\n    pass\n", False), ("from torch import nn\n\nclass Base(nn.Module):\n    pass\n", True)],
)
def test_a_class_is_one_of_modules_by_the_bases_of_its_base(base: str, is_moved: bool) -> None:
    files = {"base.py": base, "distance.py": WRAPPER, "main.py": SCORING}
    assert ("Distance().to(" in patched(files, "main.py")) is is_moved
