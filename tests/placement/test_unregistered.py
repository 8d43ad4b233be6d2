"""Modules that a module keeps in plain containers: what holds them moves without them."""

from textwrap import indent

import pytest

NET = """
class Net(nn.Module):
    def __init__(self, sizes, make):
        super().__init__()
{kept}
    def forward(self, x):
        return {used}
"""


def _net(kept: str, used: str) -> str:
    return NET.format(kept=indent(kept, " " * 8), used=used)


@pytest.mark.parametrize(
    ("kept", "used"),
    [
        ("self.parts = [nn.Linear(n, n) for n in sizes]", "[part(x) for part in self.parts]"),
        ("self.parts = []\nfor n in sizes:\n    self.parts.append(nn.Linear(n, n))", "self.parts[0](x)"),
        ("self.parts = []\nfor n in sizes:\n    self.parts.extend([nn.Linear(n, n), nn.ReLU()])", "self.parts[0](x)"),
        ("self.parts = {}\nfor n in sizes:\n    self.parts[str(n)] = nn.Linear(n, n)", "self.parts['2'](x)"),
        ("parts = [nn.Linear(n, n) for n in sizes]\nself.parts = parts", "self.parts[0](x)"),
        ("self.parts = []\nfor n in sizes:\n    self.parts += [nn.Linear(n, n)]", "self.parts[0](x)"),
    ],
)
def test_one_of_the_modules_stands_for_all(placed, kept: str, used: str) -> None:
    found = placed(_net(kept, used))
    assert found.births == ["nn.Linear(n, n)"]
    (holder,) = found.analysis.births.unregistered.values()
    assert holder.attribute == "parts"


@pytest.mark.parametrize(
    ("kept", "used"),
    [
        ("self.parts = nn.ModuleList([nn.Linear(n, n) for n in sizes])", "self.parts[0](x)"),
        ("self.parts = [nn.Linear(n, n) for n in sizes]\nself.net = nn.Sequential(*self.parts)", "self.net(x)"),
        (
            "self.parts = []\nfor n in sizes:\n    self.parts += [nn.Linear(n, 2)]\nself.n=nn.Sequential(*self.parts)",
            "self.net(x)",
        ),
        (
            "self.parts = []\nwhile sizes:\n    self.parts += [nn.Linear(2, 2)]\nself.net = nn.Sequential(*self.parts)",
            "[part(x) for part in self.parts]",
        ),
        (
            "self.parts = []\nif sizes:\n    self.parts += [nn.Linear(2, 2)]\nself.net = nn.ModuleList(self.parts)",
            "self.parts[0](x)",
        ),
        ("self.parts = [nn.ReLU() for n in sizes]", "self.parts[0](x)"),
        ("self.parts = [make(n) for n in sizes]", "self.parts[0](x)"),
        ("self.first = nn.Linear(2, 2)\nself.parts = [self.first, nn.ReLU()]", "self.parts[0](x)"),
        ("self.parts = {2: nn.Linear(2, 2)}", "self.parts[2](x)"),
        ("self.parts = [nn.Linear(n, n) for n in sizes]", "[part.parameters() for part in self.parts]"),
    ],
)
def test_modules_that_are_registered_bare_or_cared_for(placed, kept: str, used: str) -> None:
    assert placed(_net(kept, used)).analysis.births.unregistered == {}
