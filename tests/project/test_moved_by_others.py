"""Modules that are wrapped where they are made, and moved by the files that call the function."""

import pytest

from .test_project import found

MODELS = """
    from torch import nn

    def build(gpus):
        net = nn.Linear(4, 2)
        if gpus:
            net = nn.DataParallel(net)
        return net
"""


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ("self.net = models.build([0]).to(device)", 0),
        ("self.net = models.build([0])\n            self.net.to(device)", 0),
        ("self.net = models.build([0])", 1),
        ("self.net = models.build([0]).to('cpu')", 1),
        ("self.net = models.build([0]).cpu()", 1),
        ("self.one, self.other = models.build([0]).to(device), models.build([1])", 1),
    ],
)
def test_who_calls_it_moves_what_it_gives(lines: str, count: int) -> None:
    run = f"""
    import models

    class Trainer:
        def __init__(self, device):
            {lines}
    """
    assert len(found({"models.py": MODELS, "run.py": run}, "models.py")) == count
