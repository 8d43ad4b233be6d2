"""What comes beside what is moved: a part with which nothing is done that is done with tensors may be a text."""

import pytest

TAKEN = """
    def embed(loader, net, keep, device):
        named = []
        for batch in loader:
            image = batch["image"].to(device)
            {taken}
            {used}
            keep(net(image))
        return named
"""


@pytest.mark.parametrize(
    ("taken", "used"),
    [
        ('case = batch["case"]', "named.extend(case)"),
        ('case = batch["case"]', "named.append(case)"),
    ],
)
def test_what_is_only_collected(placed, taken: str, used: str) -> None:
    assert placed(TAKEN.format(taken=taken, used=used)).births == []


@pytest.mark.parametrize(
    ("taken", "used"),
    [
        ('case = batch["case"]', "keep(case)"),
        ('case = batch["case"]', "named.append(case * 2)"),
    ],
)
def test_what_is_used(placed, taken: str, used: str) -> None:
    assert placed(TAKEN.format(taken=taken, used=used)).births == ["batch['case']"]


GIVEN = """
    def step(batch, check, device):
        x, y = batch
        x = x.to(device)
        {used}
"""


@pytest.mark.parametrize("used", ["check(x, y)", "check(x, [y])"])
def test_what_nothing_shows_to_be_a_tensor(placed, used: str) -> None:
    assert placed(GIVEN.format(used=used)).births == []


@pytest.mark.parametrize(
    "used",
    ["check(x, y.float())", "check(x, y[:, 1:])", "check(x, y + 1)", "check(x, y).backward()", "check(x + y)"],
)
def test_what_something_does(placed, used: str) -> None:
    assert "y" in placed(GIVEN.format(used=used)).births


FIELDS = """
    class Model:
        def take(self, batch, device):
            self.low = batch["low"]
            self.high = batch["high"].to(device)
        def step(self):
            self.made = self.net(self.low)
            {last}
"""


def test_what_an_object_only_computes(placed) -> None:
    strong = placed(FIELDS.format(last="F.l1_loss(self.made, self.high).backward()")).of("batch['low']")
    weak = placed(FIELDS.format(last="F.l1_loss(self.made, self.high)")).of("batch['low']")
    assert weak.confidence < 0.6 <= strong.confidence
