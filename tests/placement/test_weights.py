"""Weights of losses, and tensors that are indexed: what they meet."""

import pytest

APART = {
    "weights of a loss": """
        def main(model, x, y, device):
            criterion = nn.CrossEntropyLoss(weight=torch.ones(3))
            return criterion(model(x.to(device)), y.to(device))
    """,
    "weights by position, of a loss that an object keeps": """
        class Trainer:
            def __init__(self, device):
                self.device = device
                self.criterion = nn.NLLLoss(torch.ones(3))
            def step(self, x, y):
                return self.criterion(x.to(self.device), y.to(self.device))
    """,
    "indexed at one of several dimensions": """
        def main(x: torch.Tensor):
            table = torch.zeros(3, 3)
            return table[:, x.cuda()]
    """,
    "as many as another file says": """
        from sizes import LENGTH
        def main(x: torch.Tensor):
            table = torch.zeros(LENGTH)
            return table[x.cuda()]
    """,
    "the real part of what is made of a list": """
        def main(rows, device):
            steps = torch.arange(3, device=device)
            return torch.as_tensor(rows.tolist()).real[steps > 1]
    """,
}

TOGETHER = {
    "weights of a loss that is moved": """
        def main(model, x, y, device):
            criterion = nn.CrossEntropyLoss(weight=torch.ones(3)).to(device)
            return criterion(model(x.to(device)), y.to(device))
    """,
    "weights of a loss that a module takes along": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.criterion = nn.NLLLoss(torch.ones(3))
            def forward(self, x, y):
                return self.criterion(x.cuda(), y.cuda())
    """,
    "a weight without dimensions": """
        def main(x, y, device):
            criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0))
            return criterion(x.to(device), y.to(device))
    """,
    "made of a part of what was moved": """
        def main(solver, n, device):
            solver = solver.to(device)
            steps = torch.arange(n, device=device)
            return torch.as_tensor(solver.table)[steps > 1]
    """,
}


@pytest.mark.parametrize("program", APART.values(), ids=APART)
def test_what_is_apart(placed, program: str) -> None:
    assert len(placed(program).births) == 1


@pytest.mark.parametrize("program", TOGETHER.values(), ids=TOGETHER)
def test_what_is_together(placed, program: str) -> None:
    assert placed(program).births == []
