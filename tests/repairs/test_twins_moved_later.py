"""What is moved by its own statement is a twin as what is moved on the spot is; what is printed is where it was."""

import pytest
from devfix_codemods.findings import Safety

FINE = {
    "both are moved": """
        def f(p, q, device):
            a = torch.from_numpy(p)
            a = a.to(device)
            b = torch.from_numpy(q)
            b = b.to(device)
            return a, b
    """,
    "the first is read on the host as well": """
        def f(p, q, device):
            a = torch.from_numpy(p)
            rows = a.numpy()
            a = a.to(device)
            b = torch.from_numpy(q)
            return a, b, rows
    """,
    "moved under a condition": """
        def f(p, q, device, on):
            a = torch.from_numpy(p)
            if on:
                a = a.to(device)
            b = torch.from_numpy(q)
            return a, b
    """,
    "the other goes back to numpy": """
        def f(p, q, device):
            a = torch.from_numpy(p)
            a = a.to(device)
            b = torch.from_numpy(q)
            return a, b.numpy()
    """,
    "made of another thing": """
        def f(p, q, device):
            a = torch.from_numpy(p)
            a = a.to(device)
            b = load(q)
            return a, b
    """,
    "printed, and read on the host": """
        class Net(nn.Module):
            def forward(self, x):
                steps = torch.arange(1, x.size(0), dtype=x.dtype)
                print(steps)
                return x * float(steps.sum())
    """,
}
FOUND = {
    "by the same name": (
        """
        def f(p, q, device):
            a = torch.from_numpy(p)
            a = a.to(device)
            b = torch.from_numpy(q)
            return a, b
        """,
        "b = torch.from_numpy(q).to(device)",
    ),
    "by another name": (
        """
        def f(p, q, device):
            a = torch.from_numpy(p)
            moved = a.to(device)
            b = torch.from_numpy(q)
            return moved, b
        """,
        "b = torch.from_numpy(q).to(device)",
    ),
    "below": (
        """
        def f(p, q, device):
            a = torch.from_numpy(p)
            b = torch.from_numpy(q)
            a = a.to(device)
            return a, b
        """,
        "b = torch.from_numpy(q).to(device)",
    ),
    "into an object": (
        """
        class Data:
            def __init__(self, p, q, device):
                x = torch.tensor(p)
                self.x = x.to(device)
                self.y = torch.tensor(q)
        """,
        "self.y = torch.tensor(q, device=device)",
    ),
    "what is only printed on the way": (
        """
        class Net(nn.Module):
            def forward(self, parts, x):
                losses = torch.zeros(len(parts), dtype=x.dtype)
                print("losses", losses)
                for at, part in enumerate(parts):
                    losses[at] = part(x)
                return self.reduce(losses)
        """,
        "losses = torch.zeros(len(parts), dtype=x.dtype, device=x.device)",
    ),
}


@pytest.mark.parametrize("program", FINE.values(), ids=FINE)
def test_what_is_no_twin(repairs, program: str) -> None:
    assert repairs.findings(program) == ()


@pytest.mark.parametrize(("program", "line"), FOUND.values(), ids=FOUND)
def test_what_is_left(repairs, program: str, line: str) -> None:
    assert repairs.added(program, Safety.UNSAFE) == [line]
