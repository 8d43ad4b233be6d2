"""DVF203: what a kept tensor goes with at its uses, where that is on the host."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF203"

FLOW = """
import torch
from builders import build
class Flow{base}:
    def __init__(self, args):
        super().__init__()
        self.device = args.device
        self.graph = build(args).to(self.device)
        self.net = {net}
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.table = torch.zeros(3, 8)
    def step(self):
        {lines}
"""
BUILT = "build(args, self.graph)"


def flow(lines: str, net: str = BUILT, base: str = "") -> str:
    return FLOW.format(lines=lines, net=net, base=base)


def test_what_a_model_gets_goes_where_the_rest_is(rule) -> None:
    fixed = rule.unchanged_unless_unsafe(flow("return self.net(self.table, self.graph)"))
    assert "self.table = torch.zeros(3, 8, device=self.device)" in fixed


@pytest.mark.parametrize(
    "net",
    [
        "build(args, self.graph).to(self.device)",
        "build(args, self.graph, device=self.device)",
        "build(args, self.graph)\n        self.net.to(args.device)",
        "build(args, self.graph)\n        self.net = self.net.cuda()",
        "build(args, self.graph)\n        place(self.net)",
        "args.net",
    ],
)
def test_a_model_that_may_be_where_the_rest_is(rule, net: str) -> None:
    assert rule.safeties(flow("return self.net(self.table, self.graph)", net)) != [None]


def test_a_model_without_part_in_the_operation(rule) -> None:
    assert rule.safeties(flow("return self.net(self.table * self.graph)")) == [Safety.SAFE]


def test_a_module_that_adds_on_the_host_as_well(rule) -> None:
    program = """
    import torch
    from torch import nn
    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.arange(3)
        def forward(self, x: torch.Tensor):
            y = x * self.scale
            x = x.cpu()
            return y, x + self.scale
    """
    assert rule.findings(program) == ()
