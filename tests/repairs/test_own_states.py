"""What a method of a model makes for the model goes where its parameters are, if nothing there has a name for that."""

import pytest
from devfix_codemods.findings import Safety

DEVICE = "device=next(self.parameters()).device"
PROGRAM = """
class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.embed = nn.Embedding(size, size)
        self.rnn = nn.LSTM(size, size)
    def forward(self, x, hidden):
        return self.rnn(self.embed(x), hidden)
    def states(self, count):
        {lines}
def detached(hidden):
    if isinstance(hidden, torch.Tensor):
        return hidden.detach()
    return tuple(detached(one) for one in hidden)
def main(args, rows):
    device = torch.device("cuda" if args.cuda else "cpu")
    net = Net(8).to(device)
    rows = rows.to(device)
    hidden = net.states(4)
    for row in rows:
        hidden = detached(hidden)
        out, hidden = net(row, hidden)
        out.sum().backward()
"""


@pytest.mark.parametrize(
    "line",
    [
        f"return (torch.zeros(1, count, 8, {DEVICE}), self.embed.weight.new_zeros(1, count, 8))",
        f"return (self.embed.weight.new_zeros(1, count, 8), torch.zeros(1, count, 8, {DEVICE}))",
    ],
)
def test_a_state_is_made_where_the_parameters_are(repairs, line: str) -> None:
    before = line.replace(f", {DEVICE}", "")
    assert repairs.added(PROGRAM.format(lines=before), Safety.SUGGESTION) == [line]


@pytest.mark.parametrize(
    "lines",
    [
        "return (self.embed.weight.new_zeros(1, count, 8), self.embed.weight.new_zeros(1, count, 8))",
        "zero = torch.zeros(1, count, 8).to(self.embed.weight.device)\n        return (zero, zero.clone())",
    ],
)
def test_states_that_are_there(repairs, lines: str) -> None:
    assert repairs.added(PROGRAM.format(lines=lines)) == []
