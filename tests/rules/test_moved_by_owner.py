"""Modules that an object keeps, and that a method, or whoever has the object, moves by hand."""

import pytest

CODE = "DVF104"

AGENT = """
    import torch
    import torch.nn as nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 2)
        def forward(self, state):
            return self.fc(state)

    class Agent:
        def __init__(self):
            self.net = Net()
        def act(self, state):
            return self.net(state).argmax()

    def main(env):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        agent = Agent()
        {moves}
        state = env.reset()
        return agent.act({given})
"""
SILENT = {
    "not moved": ("print(torch.ones(1).to(device))", "torch.from_numpy(state)"),
    "moved with it": ("agent.net.to(device)", "torch.from_numpy(state).to(device)"),
    "taken back": ("agent.net.to(device)\n        agent.net.cpu()", "torch.from_numpy(state)"),
    "taken back elsewhere": (
        "agent.net.to(device)\n        torch.save(agent.net.cpu().state_dict(), 'net.pt')",
        "torch.from_numpy(state)",
    ),
    "to the host": ("agent.net.to('cpu')", "torch.from_numpy(state)"),
}


@pytest.mark.parametrize(("moves", "given"), SILENT.values(), ids=SILENT.keys())
def test_silent(rule, moves: str, given: str) -> None:
    assert rule.findings(AGENT.format(moves=moves, given=given)) == ()


def test_who_has_the_object_moves_its_module(rule) -> None:
    program = AGENT.format(moves="agent.net.to(device)", given="torch.from_numpy(state)")
    assert "agent.act(torch.from_numpy(state).to(device))" in rule.unchanged_unless_unsafe(program)
