"""States of recurrent networks, which are made where the input is."""

import pytest
from devfix_codemods.findings import Safety

from tests.repairs.conftest import Repairs

NETWORK = """
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.{network}(3, 3)
    def forward(self, x: torch.Tensor, state=None):
        {forward}
    def begin(self):
        return torch.zeros(3)
"""


@pytest.mark.parametrize("network", ["LSTM", "GRU", "RNNCell"])
def test_a_state_is_made_where_the_input_is(repairs: Repairs, network: str) -> None:
    program = NETWORK.format(network=network, forward="h = torch.zeros(1, 3)\n        return self.rnn(x, h)")
    assert repairs.added(program, Safety.SAFE) == ["h = torch.zeros(1, 3, device=x.device)"]
    assert repairs.finding(program).code == "DVF107"


@pytest.mark.parametrize(
    "forward", ["return self.rnn(x, state)", "h = torch.zeros(3, device=x.device)\n        return self.rnn(x, (h, h))"]
)
def test_states_of_others(repairs: Repairs, forward: str) -> None:
    assert repairs.findings(NETWORK.format(network="LSTM", forward=forward)) == ()


def test_what_is_no_state_is_another_rules(repairs: Repairs) -> None:
    program = NETWORK.format(network="LSTM", forward="return self.rnn(x + torch.zeros(3), state)")
    assert repairs.finding(program).code == "DVF104"


def test_a_state_that_a_method_of_a_moved_network_makes(repairs: Repairs) -> None:
    program = NETWORK.format(network="LSTM", forward="return self.rnn(x, state)") + (
        "device = torch.device('cuda')\nmodel = A().to(device)\nmodel(torch.zeros(3).to(device), model.begin())\n"
    )
    assert repairs.added(program, Safety.SAFE) == ["return torch.zeros(3, device=device)"]


KEPT = """
class Encoder(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.rnn = nn.{network}(3, 3)
        self.hidden = None
    def reset(self, n):
        self.hidden = {state}
    def pair(self, n):
        return (torch.zeros(1, n, 3), torch.zeros(1, n, 3)) if self.kind == "lstm" else torch.zeros(1, n, 3)
    def forward(self, x):
        out, self.hidden = self.rnn(x, self.hidden)
        return out
"""
ZEROS = "torch.zeros(1, n, 3)"


@pytest.mark.parametrize(
    ("network", "state", "at_read"),
    [
        ("GRU", ZEROS, True),
        ("LSTM", f"({ZEROS}, {ZEROS})", False),
        ("LSTM", f"[{ZEROS} for _ in range(2)]", False),
        ("GRU", "self.pair(n)", False),
        ("GRU", f"({ZEROS}, {ZEROS}) if self.kind == 'lstm' else {ZEROS}", False),
    ],
)
def test_a_state_of_several_is_not_moved_as_one(repairs: Repairs, network: str, state: str, at_read: bool) -> None:
    added = repairs.added(KEPT.format(network=network, state=state))
    assert any("self.hidden.to(" in line for line in added) is at_read
