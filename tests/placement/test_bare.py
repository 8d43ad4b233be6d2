"""Modules of torch without tensors: what meets them meets nothing, wherever they were moved."""

import pytest

BARE = {
    "pool": "nn.AvgPool2d(3)",
    "activation": "nn.ReLU()",
    "loss": "nn.CrossEntropyLoss()",
    "loss told no weights": "nn.CrossEntropyLoss(weight=None, reduction='sum')",
    "sequence of such": "nn.Sequential(nn.Flatten(), nn.Dropout(0.1))",
    "either of two": "nn.ReLU() if deep else nn.Identity()",
}
HOLDING = {
    "layer": "nn.Linear(3, 3)",
    "normalization": "nn.BatchNorm2d(3)",
    "loss with weights": "nn.CrossEntropyLoss(weight=torch.ones(3))",
    "loss with weights by position": "nn.CrossEntropyLoss(torch.ones(3))",
    "sequence with a layer": "nn.Sequential(nn.Flatten(), nn.Linear(3, 3))",
    "either of two": "nn.Linear(3, 3) if deep else nn.Linear(3, 1)",
}
CALLED = """
    def run(deep):
        made = {made}
        made = made.to("cuda")
        x = torch.zeros(3, 3)
        return made(x, x)
"""


@pytest.mark.parametrize("made", BARE.values(), ids=BARE)
def test_what_holds_nothing_is_nowhere(placed, made: str) -> None:
    assert placed(CALLED.format(made=made)).births == []


@pytest.mark.parametrize("made", HOLDING.values(), ids=HOLDING)
def test_what_holds_tensors_is_where_it_was_moved(placed, made: str) -> None:
    assert "torch.zeros(3, 3)" in placed(CALLED.format(made=made)).births


def test_what_it_gets_meets_all_the_same(placed) -> None:
    found = placed("""
        criterion = nn.MSELoss().to("cuda")
        loss = criterion(torch.zeros(3), torch.ones(3, device="cuda"))
    """)
    assert found.births == ["torch.zeros(3)"]
