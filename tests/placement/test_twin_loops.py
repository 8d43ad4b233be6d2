"""What one loop moves, another one gives as well, under one name and at one place among what it gives."""

import pytest

LOOPS = """
    def fit(net, loader, criterion, device):
        for x, y in loader:
            criterion(net(x.to(device)), y.to(device)).backward()

    def judge(net, rows, criterion):
        for {given} in rows:
            net.keep(criterion(y * 2))
"""


@pytest.mark.parametrize("given", ["y, names", "names, x, y", "z, rest"])
def test_another_place_or_name(placed, given: str) -> None:
    assert "y" not in placed(LOOPS.format(given=given)).births


def test_one_name_at_one_place(placed) -> None:
    assert placed(LOOPS.format(given="names, y")).births == ["y"]
