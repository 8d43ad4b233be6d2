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


def test_a_model_that_the_class_has_built_and_moved_nowhere(rule) -> None:
    finding = rule.finding(flow("return self.net(self.table, self.graph)"))
    assert finding.fix is None
    assert finding.advice


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


TO_AND_FRO = """{first} = self.graph * self.table
        self.graph = self.graph.to('cpu')
        {second}
        self.graph = self.graph.to(self.device)
        return {first}"""


@pytest.mark.parametrize("second", ["y = self.graph + self.table", "y = torch.add(self.graph[0], self.table[0])"])
def test_what_it_meets_goes_back_to_the_host_between_two_uses(rule, second: str) -> None:
    before = flow(TO_AND_FRO.format(first="x", second=second))
    after = before.replace("x = self.graph * self.table", "x = self.graph * self.table.to(self.device)")
    assert rule.fixed(before).replace("self.graph.device", "self.device") == after


@pytest.mark.parametrize("second", ["y = self.graph + 1", "y = self.net(1)", "y = self.graph + 1, self.table.sum()"])
def test_only_the_other_goes_back_to_the_host(rule, second: str) -> None:
    after = rule.fixed(flow(TO_AND_FRO.format(first="x", second=second)))
    assert "self.table = torch.zeros(3, 8, device=self.device)" in after


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
    after = rule.fixed(program)
    assert "y = x * self.scale.to(x.device)" in after
    assert "return y, x + self.scale\n" in after
    assert "register_buffer" not in after
