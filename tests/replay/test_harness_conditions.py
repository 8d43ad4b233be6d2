"""Which of the values that a driver gives a verdict names as its condition."""

import pytest
from devfix.replay.harness.conditions import told_places
from devfix.replay.harness.targets import Target

DRIVER = """
part = Part("noise.py", 'noise', 'Rows.add', {1: (3, 4, (), ())}, device)
part.begin({'x': torch.rand(2, 16, device=device), 'unread': torch.rand(2, device=device), 'n': 2})
part.run(y=torch.rand(2, device=device))
"""


@pytest.mark.parametrize(
    ("read", "on_device", "told"),
    [
        ({"x", "n"}, (), "; if `x`, `y` are on the accelerator"),
        ({"x", "n"}, ("x",), "; with `x` on the accelerator; if `y` is on the accelerator"),
        ({"n"}, (), "; if `y` is on the accelerator"),
    ],
)
def test_parameters_that_lines_read_are_conditions_too(read: set[str], on_device: tuple[str, ...], told: str) -> None:
    target = Target("noise.py", "noise", "Rows.add", (), (3,), on_device=on_device, part=(3, 4))
    assert told_places(target, DRIVER, on_device=True, read=read) == told
    assert told_places(target, DRIVER, on_device=False, read=read) == ""
