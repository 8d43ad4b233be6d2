"""DVF104: a device that suits one caller of a helper may not suit the others."""

CODE = "DVF104"
CONFLICTS_ALONE = True

RAMP = """
import torch
from platforms import current
def ramp(low: float, high: float, dim: int) -> torch.Tensor:
    steps = {made} - low
    return torch.clamp(steps, 0, 1)
class Scaled:
    def frequencies(self, factor: float) -> torch.Tensor:
        inner = torch.arange(0, self.dim, 2, device=current.device_type)
        mask = 1 - ramp(1.0, 2.0, self.dim)
        return inner / factor * (1 - mask) + inner * mask
"""
PLAIN = """
class Plain:
    def frequencies(self, factor: float) -> torch.Tensor:
        inner = torch.arange(0, self.dim, 2)
        mask = 1 - ramp(1.0, 2.0, self.dim)
        return inner / factor * (1 - mask) + inner * mask
"""


def test_another_caller_works_on_the_host(rule) -> None:
    assert rule.safeties(RAMP.format(made="torch.arange(dim)") + PLAIN) == []


def test_methods_of_one_name(rule) -> None:
    more = """
class Base:
    def __init__(self):
        self.kept = self.cache()
    def cache(self):
        return self.frequencies(2.0).cos()
class Twice(Base):
    def __init__(self):
        super().__init__()
"""
    program = RAMP.replace("class Scaled:", "class Scaled(Base):") + PLAIN.replace("class Plain:", "class Plain(Base):")
    assert rule.safeties(program.format(made="torch.arange(dim)") + more) == []


def test_another_caller_is_not_known(rule) -> None:
    assert rule.safeties(RAMP.format(made="torch.arange(dim)") + "\nsteps = ramp(1.0, 2.0, 3)\n") == []


def test_all_callers_work_in_one_place(rule) -> None:
    more = PLAIN.replace("2)\n", "2, device=current.device_type)\n", 1)
    after = RAMP.format(made="torch.arange(dim, device=current.device_type)")
    for others in ("", more):
        assert rule.fixed(RAMP.format(made="torch.arange(dim)") + others) == after + others


def test_a_helper_between_them(rule) -> None:
    between = "def wide(dim: int):\n    return ramp(1.0, 2.0, dim)\n"
    for others, fixed in ((between, True), (between + "print(wide(3))\n", False)):
        program = RAMP.replace("ramp(1.0, 2.0, self.dim)", "wide(self.dim)").format(made="torch.arange(dim)") + others
        assert bool(rule.findings(program)) is fixed


def test_what_a_caller_hands_on(rule) -> None:
    program = """
import torch
from torch import nn
class Cell(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(n))
    def begin(self, n: int, state):
        if state is None:
            state = torch.zeros(n)
        return state
    def gate(self, x, state):
        return torch.sigmoid(self.weight * x) * state
    def forward(self, x: torch.Tensor, state: torch.Tensor = None):
        state = self.begin(3, state)
        return self.gate(x, state)
"""
    assert "state = torch.zeros(n, device=self.weight.device)" in rule.fixed(program, unsafe=True)
