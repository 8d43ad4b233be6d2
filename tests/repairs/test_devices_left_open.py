"""Devices that are none, and devices whose type is named behind their number."""

import pytest
from devfix_codemods.findings import Safety

PROGRAM = """
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 3).to(device)
{body}
"""
OPEN = {
    "alone": ("net(torch.zeros(3, device=None))", "net(torch.zeros(3, device=device))"),
    "among others": (
        "net(torch.zeros(3, device=None, dtype=torch.float))",
        "net(torch.zeros(3, device=device, dtype=torch.float))",
    ),
}
SAID = {
    "the host": 'host = torch.device(index=0, type="cpu")\nx = torch.zeros(3).to(host)\nx + torch.ones(3)',
    "by keyword": 'host = torch.device(type="cpu")\nx = torch.zeros(3).to(host)\nx + torch.ones(3)',
    "like another": "x = torch.zeros(3, device=device)\nx + torch.zeros_like(x, device=None)",
}


@pytest.mark.parametrize(("body", "line"), OPEN.values(), ids=OPEN)
def test_no_device(repairs, body: str, line: str) -> None:
    assert repairs.added(PROGRAM.format(body=body), Safety.UNSAFE) == [line]


@pytest.mark.parametrize("body", SAID.values(), ids=SAID)
def test_where_it_is(repairs, body: str) -> None:
    assert repairs.findings(PROGRAM.format(body=body)) == ()


def test_an_accelerator_by_keyword(repairs) -> None:
    body = 'card = torch.device(index=0, type="cuda")\nx = torch.zeros(3, device=card)\nx + torch.ones(3)'
    assert repairs.added(PROGRAM.format(body=body), Safety.UNSAFE) == ["x + torch.ones(3, device=card)"]
