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


PARTS = """
    from nets import Critic, Generator
    class Trainer(Base):
        def __init__(self, opt, device):
            super().__init__(opt)
            self.device = device
            self.g = Generator(opt.n).to(self.device)
            self.h = {h}
            self.d = Critic(opt.n){d}
            self.adam = torch.optim.Adam([*self.g.parameters(), *self.h.parameters(), *self.d.parameters()])
            {later}
        def step(self, x, y):
            x, y = x.to(self.device), y.to(self.device)
            return self.d(self.g(x)) + self.d(self.h(y))
"""


@pytest.mark.parametrize(
    ("h", "d", "later"),
    [
        ("Generator(opt.n).to(self.device)", "", "pass"),  # a sort of its own, beside two of another one
        ("Generator(opt.n)", ".to(self.device)", "pass"),
    ],
)
def test_a_part_beside_those_that_are_moved_where_they_are_made(repairs, h: str, d: str, later: str) -> None:
    added = repairs.added(PARTS.format(h=h, d=d, later=later))
    assert len(added) == 1
    assert ".to(self.device)" in added[0]


@pytest.mark.parametrize(
    ("h", "d", "later"),
    [
        ("Generator(opt.n).to(self.device)", ".to(self.device)", "pass"),
        ("Generator(opt.n)", "", "self.to(self.device)"),
        ("nn.Identity()", "", "self.d.to(self.device)"),
    ],
)
def test_a_part_that_is_moved_with_the_whole_or_by_itself(repairs, h: str, d: str, later: str) -> None:
    assert repairs.added(PARTS.format(h=h, d=d, later=later)) == []


FLOWS = """
    class Flows(nn.Module):
        def __init__(self, n, device):
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(n, n), nn.ELU()).to(device)
            self.decoder = nn.Sequential(nn.Linear(n, n), nn.ELU()).to(device)
            self.flows = nn.ModuleList([Planar(n, device) for _ in range(n)])
            self.head = nn.Linear(n, n)
    class Planar(nn.Module):
        def __init__(self, n, device):
            super().__init__()
            self.w = nn.Parameter(torch.zeros(n, device=device))
"""


def test_parts_of_a_module_are_moved_with_it(repairs) -> None:
    assert repairs.added(FLOWS) == []
