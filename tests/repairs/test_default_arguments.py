"""Tensors and modules that parameters are by default: made once, on the host, whatever device the others are on."""

import pytest
from devfix_codemods.findings import Safety

PROGRAM = """
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
moved = torch.zeros(3).to(device)
{body}
"""
MADE = {
    "a call without it": (
        "def scaled(x, w=torch.ones(3)):\n    return x * w\nscaled(moved)",
        "def scaled(x, w=torch.ones(3, device=device)):",
    ),
    "by keyword alone": (
        "def scaled(x, *, w=torch.ones(3)):\n    return x * w\nscaled(moved)",
        "def scaled(x, *, w=torch.ones(3, device=device)):",
    ),
    "one of two calls": (
        "def scaled(x, w=torch.ones(3)):\n    return x * w\nscaled(moved, moved)\nscaled(moved)",
        "def scaled(x, w=torch.ones(3, device=device)):",
    ),
    "what is returned": (
        "def weight(x, w=torch.ones(3)):\n    return w\nprint(moved * weight(3))",
        "def weight(x, w=torch.ones(3, device=device)):",
    ),
    "a global": (
        "WEIGHT = torch.ones(3)\ndef scaled(x, w=WEIGHT):\n    return x * w\nscaled(moved)",
        "WEIGHT = torch.ones(3, device=device)",
    ),
    "a module": (
        "def run(x, net=nn.Linear(3, 3)):\n    return net(x)\nrun(moved)",
        "def run(x, net=nn.Linear(3, 3).to(device)):",
    ),
    "a function that nothing calls here": (
        "def scaled(x, w=torch.ones(3)):\n    x = x.to(device)\n    return torch.relu(x) * w",
        "def scaled(x, w=torch.ones(3, device=device)):",
    ),
}
LEFT = {
    "it is given in all calls": (
        "def scaled(x, w=torch.ones(3)):\n    return x * w\nscaled(moved, moved)\nscaled(moved, w=moved)"
    ),
    "it may be among what is spread": "def scaled(x, w=torch.ones(3)):\n    return x * w\nscaled(*[moved, moved])",
    "it is moved": "def scaled(x, w=torch.ones(3)):\n    return x * w.to(x.device)\nscaled(moved)",
    "nothing is elsewhere": "def scaled(x, w=torch.ones(3)):\n    return x * w\nscaled(torch.zeros(3))",
    "it meets nothing": "def scaled(w=torch.ones(3)):\n    return w * 2",
    "it is a number": "def scaled(x, w=2.0):\n    return x * w\nscaled(moved)",
    "it is none": "def scaled(x, w=None):\n    return x * (x if w is None else w)\nscaled(moved)",
}


@pytest.mark.parametrize(("body", "line"), MADE.values(), ids=MADE)
def test_what_is_left_to_the_default(repairs, body: str, line: str) -> None:
    assert repairs.added(PROGRAM.format(body=body), Safety.UNSAFE) == [line]


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_what_is_in_place(repairs, body: str) -> None:
    assert repairs.added(PROGRAM.format(body=body), Safety.UNSAFE) == []
