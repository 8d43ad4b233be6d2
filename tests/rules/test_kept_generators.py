"""DVF404: generators of the host that modules keep."""

import pytest

CODE = "DVF404"

MODULE = """
import torch
from torch import nn
class Noise({base}):
    def __init__(self, seed):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        {made}
    def reset(self, seed):
        {again}
    def forward(self, x):
        {draw}
        return x + self.scale * noise
{rest}
"""


def module(**parts: str) -> str:
    defaults = {
        "base": "nn.Module",
        "made": "self.random = None",
        "again": "self.random = torch.Generator().manual_seed(seed)",
        "draw": "noise = torch.randn_like(x, generator=self.random)",
        "rest": "",
    }
    return MODULE.format(**(defaults | parts))


SILENT = {
    "made on a device": module(again="self.random = torch.Generator(device=self.scale.device)"),
    "given by the caller once": module(made="self.random = seed"),
    "drawn on the host and moved": module(draw="noise = torch.randn(x.shape, generator=self.random).to(x.device)"),
    "its own device": module(
        draw="noise = torch.randn(x.shape, generator=self.random, device=self.random.device).to(x.device)"
    ),
    "drawn like a tensor of the host": module(
        draw="like = torch.zeros(3)\n        noise = torch.rand_like(like, generator=self.random).to(x.device)"
    ),
    "no module": module(
        base="Transform",
        draw="pass",
        rest="    def draw(self, x):\n        return torch.randn_like(x, generator=self.random)",
    ).replace("def forward", "def apply"),
    "in a test": module(
        draw="noise = 0", rest="    def test_draw(self, x):\n        return torch.randn_like(x, generator=self.random)"
    ),
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_left_alone(rule, program: str) -> None:
    assert not rule.findings(program)


FOUND = {
    "noise like the input": module(),
    "noise on the device of the input": module(
        draw="noise = torch.rand(x.shape, device=x.device, generator=self.random)"
    ),
    "in a base of modules": module(base="Seeded", rest="class Head(nn.Linear, Noise):\n    pass\n", draw="noise = 0")
    .replace("def forward", "def add")
    .replace("noise = 0", "noise = torch.randint_like(x, 9, generator=self.random)"),
}


@pytest.mark.parametrize("program", FOUND.values(), ids=FOUND)
def test_is_told(rule, program: str) -> None:
    finding = rule.finding(program)
    assert finding.fix is None
    assert finding.advice


def test_what_the_flow_sees_is_told_once(rule) -> None:
    made = "self.random = torch.Generator()"
    draw = "noise = torch.rand(x.shape, device=x.device, generator=self.random)"
    assert len(rule.findings(module(made=made, again="self.random.manual_seed(seed)", draw=draw))) == 1
