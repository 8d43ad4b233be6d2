"""A model that a class keeps is moved where it is kept, if the device has its name only there."""

import pytest
from devfix_codemods.findings import Safety

TRAINER = """
from torch.utils.data import DataLoader
class Trainer:
    def __init__(self, model, data):
        {keeps}
        self.loader = DataLoader(data)
    def train(self):
        for x, y in self.loader:
            x, y = x.to(self.device), y.to(self.device)
            nn.functional.mse_loss(self.model(x), y).backward()
def main(data):
    {calls}
"""
DEVICE = 'self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'
PLAIN = {
    "keeps": f"{DEVICE}\n        self.model = model",
    "calls": "Trainer(nn.Linear(3, 3), data).train()",
}


def trainer(**given: str) -> str:
    return TRAINER.format(**(PLAIN | given))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"calls": "net = nn.Linear(3, 3)\n    Trainer(net, data).train()"},
        {"keeps": f"self.model = model\n        {DEVICE}"},
    ],
)
def test_is_moved_behind_the_device(repairs, given: dict[str, str]) -> None:
    assert repairs.added(trainer(**given), Safety.UNSAFE) == ["model.to(self.device)"]


@pytest.mark.parametrize(
    "given",
    [
        {"keeps": f"{DEVICE}\n        self.model = model.to(self.device)"},
        {"keeps": f"{DEVICE}\n        self.model = model\n        self.model.to(self.device)"},
        {"calls": "Trainer(nn.Linear(3, 3).cuda(), data).train()"},
    ],
)
def test_is_moved_already(repairs, given: dict[str, str]) -> None:
    assert repairs.added(trainer(**given)) == []
