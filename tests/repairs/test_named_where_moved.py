"""Modules that are named by the expression that moves them: `(net := Net()).to(device)`."""

import pytest

PROGRAM = """
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
(net := nn.Linear(3, 3)){eval}.to(device)
net({given})
"""


@pytest.mark.parametrize("called", ["", ".eval()"])
def test_what_it_is_given_belongs_there(repairs, called: str) -> None:
    program = PROGRAM.format(eval=called, given="torch.ones(3)")
    assert repairs.added(program) == ["net(torch.ones(3, device=device))"]
    assert repairs.added(PROGRAM.format(eval=called, given="torch.ones(3, device=device)")) == []
