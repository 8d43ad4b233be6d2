"""What lives where callers in other files put it: on the host, or not."""

import pytest

from .test_project import found

DRAWING = """
    import torch

    def noisy(level, scale):
        return level.detach() + scale * torch.randn(4)

    print(noisy(torch.zeros(4), 1.0))
"""


@pytest.mark.parametrize(
    ("caller", "count"),
    [
        ("noisy(torch.zeros(4).cpu(), 1.0)", 0),
        ("noisy(model(x).cpu(), 2.0)", 0),
        ("noisy(model(x), 2.0)", 1),
        ("noisy(x, 2.0)", 1),
        ("[noisy, model]", 1),
    ],
)
def test_callers_in_other_files(caller: str, count: int) -> None:
    run = f"""
    import torch
    from drawing import noisy

    def run(model, x):
        return {caller}
    """
    assert len(found({"drawing.py": DRAWING, "run.py": run}, "drawing.py")) == count
