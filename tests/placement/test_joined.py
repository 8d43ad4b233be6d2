"""What is moved by its parts, or with what it is joined to, is not misplaced."""

import pytest

BATCH = """
    class Trainer:
        def __init__(self, model, device):
            self.model = model.to(device)
            self.device = device
        def step(self, x, y):
            x = x.float().to(self.device)
            y = y.float()
            {use}
"""
JOINED = {
    "parts": "return self.model(x) - y[:, 3:].to(self.device)",
    "joined with what is made alike": """
            start = torch.zeros_like(y[:, 3:]).float()
            start = torch.cat([y[:, :3], start], dim=1).float().to(self.device)
            return self.model(x, start) - y[:, 3:].to(self.device)""",
    "in a function that moves it": """
            return self.model(x) - self.wanted(y)
        def wanted(self, y):
            return y[:, 3:].to(self.device)""",
}
LEFT = {
    "met as it is": "return self.model(x) - y",
    "joined, and met": """
            both = torch.cat([y[:, :3], y[:, 3:]], dim=1)
            return self.model(x) - both""",
    "in a function that does not": """
            return self.model(x) - self.wanted(y)
        def wanted(self, y):
            return y[:, 3:]""",
}


@pytest.mark.parametrize("use", JOINED.values(), ids=JOINED)
def test_what_is_moved_later_stays(placed, use: str) -> None:
    assert placed(BATCH.format(use=use)).births == []


@pytest.mark.parametrize("use", LEFT.values(), ids=LEFT)
def test_what_is_not_is_misplaced(placed, use: str) -> None:
    assert placed(BATCH.format(use=use)).births


LOOPS = """
    def fill(model, first: torch.utils.data.DataLoader, second: torch.utils.data.DataLoader):
        model.cuda()
        for _, data in first:
            data = data.cuda()
            model(data)
        for _, data in second:
            x, y = {x}, {y}
            model(x), model(y)
"""


def test_a_pair_is_moved_by_its_parts(placed) -> None:
    assert placed(LOOPS.format(x="data[0].cuda()", y="data[1].cuda()")).births == []
    assert placed(LOOPS.format(x="data", y="data + 1")).births


MADE = """
    def weigh(x: torch.Tensor, n):
        total = torch.zeros(n, device=x.device)
        more = torch.ones(n, device=x.device)
        {indices}
        return total, more, indices
"""


def test_what_is_joined_with_others_of_the_host_is_not_moved_alone(placed) -> None:
    joined = "indices = torch.cartesian_prod(torch.arange(n), torch.arange(n))"
    assert placed(MADE.format(indices=joined)).births == []
    assert placed(MADE.format(indices="indices = torch.arange(n)")).births == ["torch.arange(n)"]
