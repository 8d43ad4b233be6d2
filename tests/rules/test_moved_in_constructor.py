"""DVF104: networks that a constructor moves, in a class of which only a part can be read."""

import pytest

CODE = "DVF104"
CONFLICTS_ALONE = True

AGENT = """
    import torch
    from project import Agent, Net, gather
    {imports}

    class Learner({base}):
        def __init__(self, config):
            super().__init__(config)
            self.net = Net(config.size)
            {moved}

        def pick(self, seen):
            state = {state}
            self.net.eval()
            with torch.no_grad():
                values = self.net(state)
            return values.argmax().item()
"""


def _agent(
    state: str = "torch.from_numpy(self.seen).float()",
    moved: str = "self.net = self.net.to(self.device)",
    base: str = "Agent",
    imports: str = "",
) -> str:
    return AGENT.format(state=state, moved=moved, base=base, imports=imports)


@pytest.mark.parametrize(
    "program",
    [
        _agent("torch.from_numpy(self.seen).float().to(self.device)"),
        _agent("seen"),
        _agent("gather(self.seen)"),
        _agent("seen.float()"),
        _agent(moved="self.net.eval()"),
        _agent(moved='self.net.to("cpu")'),
        _agent(moved="self.net = gather(self.net)"),
    ],
)
def test_what_is_where_the_network_is(rule, program: str) -> None:
    assert rule.findings(program) == ()


@pytest.mark.parametrize("moved", ["self.net = self.net.to(self.device)", "self.net.to(self.device)"])
def test_a_network_that_the_constructor_moves(rule, moved: str) -> None:
    assert "torch.from_numpy(self.seen).to(self.device).float()" in rule.fixed(_agent(moved=moved), unsafe=True)


def test_a_network_in_another_one_that_is_moved(rule) -> None:
    program = _agent(moved="self.team = Team(self.net).to(self.device)").replace(
        "= self.net(state)", "= self.team(state)"
    )
    program = program.replace("self.net.eval()", "self.team.eval()")
    assert "torch.from_numpy(self.seen).to(self.device).float()" in rule.fixed(program, unsafe=True)
