"""Displays that move all of their values but one."""

import pytest

LEFT = {
    "made alike, and given back": (
        """
        def sample(self, a, b):
            return torch.FloatTensor(a).to(self.device), torch.FloatTensor(b)
        """,
        "torch.FloatTensor(b)",
    ),
    "pinned": (
        """
        def batch(rows, ids, device):
            x, y = torch.from_numpy(rows), torch.from_numpy(ids)
            x, y = x.pin_memory().to(device, non_blocking=True), y.pin_memory()
            return x, y
        """,
        "y.pin_memory()",
    ),
    "under another name": (
        """
        def batch(left, right, goal):
            left, right, goal = torch.Tensor(left), torch.Tensor(right), torch.Tensor(goal)
            left, right, target = left.cuda(), right.cuda(), goal
            return left, right, target
        """,
        "torch.Tensor(goal)",
    ),
    "in a list": (
        """
        def sample(self, a, b):
            return [torch.FloatTensor(a).to(self.device), torch.FloatTensor(b)]
        """,
        "torch.FloatTensor(b)",
    ),
    "in a dictionary that is made by its name": (
        """
        def sample(self, a, b):
            return dict(a=torch.FloatTensor(a).to(self.device), b=torch.FloatTensor(b))
        """,
        "torch.FloatTensor(b)",
    ),
    "joined": (
        """
        def sample(self, ids):
            return torch.stack([self.a[i] for i in ids]), torch.stack([self.b[i] for i in ids]).to(self.device)
        """,
        "torch.stack([self.a[i] for i in ids])",
    ),
    "of what one call gives": (
        """
        from rows import padded
        def sample(texts, device):
            ids, mask = padded(texts)
            return torch.relu(ids), dict(ids=ids, mask=mask.to(device))
        """,
        "ids",
    ),
    "returned, as it is on another path": (
        """
        def batch(rows, gpu):
            x, y = torch.from_numpy(rows.x), torch.from_numpy(rows.y)
            if gpu:
                return x, y.long().cuda()
            return x, y
        """,
        "torch.from_numpy(rows.x)",
    ),
    "what grows": (
        """
        def collect(rows, device):
            found = torch.tensor([])
            for row in rows:
                found = torch.cat((found, torch.tensor([row]).to(device)))
            return found
        """,
        "torch.tensor([])",
    ),
}
FINE = {
    "what was moved, and grows": """
        def collect(rows, device):
            found = torch.tensor([]).to(device)
            for row in rows:
                found = torch.cat((found, torch.tensor([row]).to(device)))
            return found
    """,
    "lengths, and what may be no tensor, of what one call gives": """
        from rows import padded
        def sample(texts, device):
            ids, lengths, names = padded(texts)
            lengths.sum(0)
            return ids.to(device), lengths, names
    """,
    "joined otherwise": """
        def sample(self, ids):
            return torch.stack([self.a[i] for i in ids]), torch.cat([self.b[i] for i in ids]).to(self.device)
    """,
    "returned otherwise on another path": """
        def batch(rows, gpu):
            x, y = torch.relu(rows.x), torch.relu(rows.y)
            if gpu:
                return x, y.cuda()
            return y, x
    """,
    "moved before": """
        def batch(rows, ids, device):
            x, y = torch.from_numpy(rows), torch.from_numpy(ids)
            x = x.to(device)
            return x, y
    """,
    "made otherwise": """
        def sample(self, a, b):
            return torch.FloatTensor(a).to(self.device), torch.from_numpy(b)
    """,
    "no tensor": """
        def batch(left, right, n):
            left, right, count = left.cuda(), right.cuda(), n
            return left, right, count
    """,
    "what goes in, and what is to come out": """
        CASES = [(torch.as_tensor(55), torch.as_tensor(55).to("cuda"))]
    """,
    "a pair of the same values": """
        def pair(rows):
            return torch.FloatTensor(rows), torch.FloatTensor(rows).cuda()
    """,
    "the same zeros on either side": """
        def both(n, device):
            return torch.zeros(n).to(device), torch.zeros(n)
    """,
}


@pytest.mark.parametrize(("program", "birth"), LEFT.values(), ids=LEFT)
def test_the_value_that_is_left(placed, program: str, birth: str) -> None:
    assert placed(program).births == [birth]


@pytest.mark.parametrize("program", FINE.values(), ids=FINE)
def test_values_that_a_display_does_not_speak_of(placed, program: str) -> None:
    assert placed(program).births == []


CELL = """
    class Cell(nn.Module):
        def forward(self, x, state):
            h, c = self.first(x, state)
            h, m, a = self.second(h, state)
            return {row}
"""


@pytest.mark.parametrize("row", ["h.to(DEVICE), c", "h.to(DEVICE), c, m", "h.to(DEVICE), c, m.to(DEVICE), self.steps"])
def test_several_that_are_not_moved_or_one_beside_few(placed, row: str) -> None:
    assert "c" not in placed(CELL.format(row=row)).births


def test_the_only_one_that_is_not_moved(placed) -> None:
    assert "c" in placed(CELL.format(row="h.to(DEVICE), c, m.to(DEVICE), a.to(DEVICE)")).births


@pytest.mark.parametrize(
    "lines",
    [
        "return x.to(device), y.to(device), z.to(device), split",
        "x, y, z, fname = split; return x.to(device), y.to(device), z.to(device), fname",
        "return [x['a'].to(device), x['b'].to(device), x['c'].to(device), x['prompt']]",
        "x, y, z, raw = net(split); return x.to(device), y.to(device), z.to(device), raw",
    ],
)
def test_what_no_module_gave_may_be_no_tensor(placed, lines: str) -> None:
    assert placed(f"def items(x, y, z, device, split, net):\n    {lines}\n").births == []
