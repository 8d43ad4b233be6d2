"""Attributes that a constructor fills, as those are filled that a method of the object moves, and that it leaves."""

import pytest

STORAGE = """
    class Storage:
        def __init__(self, steps):
            self.values = torch.zeros(steps, 1)
            self.returns = torch.zeros(steps, 1)
            self.masks = {made}
        def to(self, device):
            self.values = self.values.to(device)
            self.returns = self.returns.to(device){more}
        def discounted(self, step):
            return self.returns[step] * self.masks[step] + self.values[step]
"""


@pytest.mark.parametrize("made", ["torch.zeros(steps, 1)", "torch.ones(steps, 1)", "torch.full((steps, 1), 0.5)"])
def test_what_is_filled_with_another_number(placed, made: str) -> None:
    assert "masks" in placed(STORAGE.format(made=made, more="")).births


@pytest.mark.parametrize(
    ("made", "more"),
    [
        ("torch.ones(steps, 1)", "\n            self.masks = self.masks.to(device)"),
        ("[1.0] * steps", ""),
        ("torch.arange(steps)", ""),
    ],
)
def test_what_is_moved_or_made_otherwise(placed, made: str, more: str) -> None:
    assert "masks" not in placed(STORAGE.format(made=made, more=more)).births
