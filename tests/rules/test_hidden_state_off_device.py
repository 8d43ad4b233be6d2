"""DVF107: states of recurrent networks that are made on the host."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF107"


def module(forward: str, more: str = "") -> str:
    return (
        "import torch\nfrom torch import nn\nclass A(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.rnn = nn.LSTM(3, 3)\n    def forward(self, x: torch.Tensor, state=None):\n"
        f"        {forward}\n{more}"
    )


SILENT = {
    "no state": "return self.rnn(x)",
    "a given state": "return self.rnn(x, state)",
    "a state where the input is": "h = torch.zeros(3, device=x.device)\n        return self.rnn(x, (h, h))",
    "a moved state": "h = torch.zeros(3).to(x.device)\n        return self.rnn(x, (h, h))",
    "a state like the input": "h = torch.zeros_like(x)\n        return self.rnn(x, (h, x.new_zeros(3)))",
    "a state like a parameter": (
        "h = torch.zeros(3, device=next(self.parameters()).device)\n        return self.rnn(x, (h, h))"
    ),
    "an input that is made here": "return self.rnn(torch.zeros(3))",
}


@pytest.mark.parametrize("forward", SILENT.values(), ids=SILENT)
def test_silent(rule, forward: str) -> None:
    assert rule.findings(module(forward)) == ()


def test_a_network_on_the_host(rule) -> None:
    program = "import torch\nfrom torch import nn\nrnn = nn.GRU(3, 3)\nrnn(torch.zeros(3, 3), torch.zeros(3))\n"
    assert rule.findings(program) == ()


def test_lengths_and_inputs_are_no_states(rule) -> None:
    more = (
        "    def lengths(self):\n        return torch.ones(3)\n"
        "    def run(self):\n        return self(torch.zeros(3), self.lengths())\n"
    )
    assert rule.findings(module("return self.rnn(x, state)", more)) == ()


def test_each_state_is_made_where_the_input_is(rule) -> None:
    forward = "h, c = torch.zeros(3), torch.randn(3)\n        return self.rnn(x, (h, c))"
    assert "h, c = torch.zeros(3, device=x.device), torch.randn(3, device=x.device)" in rule.fixed(module(forward))
    assert rule.safeties(module(forward)) == [Safety.SAFE] * 2


def test_a_state_that_was_not_given(rule) -> None:
    forward = "if state is None:\n            state = torch.zeros(3), torch.zeros(3)\n        return self.rnn(x, state)"
    assert rule.fixed(module(forward)).count("torch.zeros(3, device=x.device)") == 2
