"""What the callers of a file, in other files, say of what happens in it."""

from collections.abc import Mapping
from textwrap import dedent

import pytest

from .test_project import NET, found, patched

MAIN = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    from models import Net
    from trainer import Trainer

    def main():
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        loader = DataLoader(TensorDataset(torch.zeros(8, 4), torch.zeros(8).long()))
        model = Net(){moved}
        trainer = Trainer(model, loader, device)
        trainer.train()

    if __name__ == "__main__":
        main()
"""

TRAINER = """
    import torch
    from torch import nn

    class Trainer:
        def __init__(self, model, loader, device):
            self.model = model
            self.loader = loader
            self.device = device
            self.criterion = nn.CrossEntropyLoss()
            self.optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def train(self):
            for x, y in self.loader:
                {moves}
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
"""
MOVES = "x, y = x.to(self.device), y.to(self.device)"


def project(moved: str, moves: str) -> dict[str, str]:
    return {"main.py": MAIN.format(moved=moved), "trainer.py": TRAINER.format(moves=moves), "models.py": NET}


SILENT: dict[str, Mapping[str, str]] = {
    "all is moved": project(".to(device)", MOVES),
    "nothing is moved": project("", "pass"),
    "a model that the trainer moves": {
        **project("", MOVES),
        "trainer.py": TRAINER.format(moves=MOVES).replace("self.model = model", "self.model = model.to(device)"),
    },
    "the caller leaves it to a framework": {
        **project(".to(device)", "pass"),
        "main.py": "from accelerate import Accelerator\n" + dedent(MAIN.format(moved=".to(device)")),
    },
    "a loader that the caller wraps": {
        **project(".to(device)", "pass"),
        "main.py": MAIN.format(moved=".to(device)").replace("Trainer(model, loader", "Trainer(model, Ahead(loader)"),
    },
}


@pytest.mark.parametrize("texts", SILENT.values(), ids=SILENT)
def test_silent(texts: Mapping[str, str]) -> None:
    assert [found(texts, name) for name in ("main.py", "trainer.py")] == [[], []]


def test_the_trainer_forgets_the_batch() -> None:
    texts = project(".to(device)", "pass")
    assert found(texts, "main.py") == []
    assert found(texts, "trainer.py") == ["DVF101:16", "DVF101:16"]
    assert ".to(self.device" in patched(texts, "trainer.py")


def test_the_model_is_never_moved_for_the_trainer() -> None:
    texts = project("", MOVES)
    assert found(texts, "trainer.py") == []
    assert found(texts, "main.py") == ["DVF202:10"]
    assert "model = Net().to(device)" in patched(texts, "main.py")


def test_a_function_of_another_file_trains() -> None:
    texts = {
        "main.py": """
            import torch
            from models import Net
            from train import fit

            device = "cuda"
            model = Net().to(device)
            fit(model, torch.utils.data.DataLoader(data), device)
        """,
        "models.py": NET,
        "train.py": """
            import torch
            from torch import nn

            def fit(model, loader, device):
                criterion = nn.CrossEntropyLoss()
                for x, y in loader:
                    x = x.to(device)
                    loss = criterion(model(x), y)
                    loss.backward()
        """,
    }
    assert found(texts, "train.py") == ["DVF101:9"]


def test_callers_that_call_each_other() -> None:
    texts = {
        "train.py": "import torch\nfrom other import g\n\ndef f(x, loader):\n    for y in loader: g(x.cuda())\n",
        "other.py": "import torch\nfrom train import f\n\ndef g(x):\n    return f(x, [x])\n\ng(torch.zeros(2))\n",
    }
    assert found(texts, "train.py") == []
    assert found(texts, "other.py") == []


PADS = """
    import torch
    def pad(x, y, n):
        z = torch.zeros(n, 4)
        if x:
            z = torch.cat([z, y], dim=0)
        return z
    def main():
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return pad(True, torch.ones(2, 4).to(device), 3)
"""


def test_no_device_of_what_another_file_gives_as_none() -> None:
    texts = {"pads.py": PADS, "other.py": "from pads import pad\nprint(pad(False, None, 3))\n"}
    assert "device=y.device" not in patched(texts, "pads.py")


MOVED_BY_THE_BASE = """
    import torch
    from base import Component
    class Scale(Component):
        def __init__(self, n):
            self.t = torch.zeros(n)
        def forward(self, x: torch.Tensor):
            return torch.relu(x) + self.t
"""


@pytest.mark.parametrize(
    ("method", "is_found"),
    [
        ("def to(self, device):\n            for key in vars(self):\n                setattr(self, key, one)", False),
        ("def cuda(self):\n            self.__dict__.update(moved(self.__dict__))", False),
        ("def to(self, device):\n            return self", True),
        ("def reset(self):\n            vars(self).clear()", True),
    ],
)
def test_the_base_in_another_file_moves_what_a_class_keeps(method: str, is_found: bool) -> None:
    base = f"""
    from abc import ABC
    class Component(ABC):
        {method}
"""
    texts = {"base.py": base, "train.py": MOVED_BY_THE_BASE}
    assert any(one.startswith("DVF203") for one in found(texts)) is is_found
