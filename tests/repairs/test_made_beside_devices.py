"""Modules that are made beside a device: whether that is theirs."""

import pytest

PROGRAM = """
    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.width = width
            self.fc = nn.Linear(width, 2)
        def forward(self, x):
            return self.fc(x)
    def build(path, device):
        {lines}
"""

LOADED = """net = Net(4)
        net.load_state_dict(torch.load(path, map_location=device))
        return net"""
MADE = """print(device)
        net = Net(4)
        return net"""
RUN = """print(device)
        net = Net(4)
        return net.fc(path)"""


def test_the_device_is_for_something_else(repairs) -> None:
    assert repairs.added(PROGRAM.format(lines=LOADED)) == []


@pytest.mark.parametrize("lines", [MADE, RUN])
def test_the_device_is_for_the_module(repairs, lines: str) -> None:
    assert "net = Net(4).to(device)" in repairs.added(PROGRAM.format(lines=lines))
