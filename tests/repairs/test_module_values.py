"""Tensors that a module makes once for its functions, of which only these know the device."""

import pytest

from .conftest import Repairs

PROGRAM = """
    table = torch.eye(4)

    class Trainer:
        def __init__(self, model, device):
            self.device = device
            self.model = model.to(self.device)

        def step(self, x, labels):
            out = self.model(x.to(self.device))
            {lines}
            loss.backward()
"""


@pytest.mark.parametrize(
    ("lines", "written"),
    [
        ("loss = (out - table[labels.to(self.device)]).sum()", "table.to(self.device)[labels.to(self.device)]"),
        ("loss = (out @ table).sum()", "(out @ table.to(self.device))"),
        ("loss = (out @ table).sum() + (table * out).sum()", "(table.to(self.device) * out)"),
    ],
)
def test_moved_where_it_is_read(repairs: Repairs, lines: str, written: str) -> None:
    assert written in repairs.written(PROGRAM.format(lines=lines))


@pytest.mark.parametrize(
    "lines",
    [
        "table = out.detach(); loss = (out @ table).sum()",  # another one
        "loss = (out @ table.to(self.device)).sum()",
        "loss = out.sum() * len(table)",
        "loss = (out @ table).sum(); self.kept = lambda: table",  # read by what may run anywhere
    ],
)
def test_left_as_it_is(repairs: Repairs, lines: str) -> None:
    program = PROGRAM.format(lines=lines)
    assert repairs.written(program) == repairs.plain(program).removeprefix(repairs.plain(""))
