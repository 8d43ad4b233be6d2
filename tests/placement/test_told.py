"""Devices that a function is told, or asks for, and that what it makes does not get."""

import pytest

UNUSED = "def f(x: torch.Tensor{given}):\n    {first}\n    rows = torch.zeros(3)\n    {then}\n    return rows\n"


@pytest.mark.parametrize(
    ("given", "first"),
    [
        ("", "device = x.device"),
        ("", "n, device = x.shape[0], x.device"),
        ("", "device = settings.device"),
        (", device", "pass"),
    ],
)
def test_a_device_that_nothing_uses(placed, given: str, first: str) -> None:
    found = placed(UNUSED.format(given=given, first=first, then="rows[0] = 3 * 0.5"))
    assert "unused-device" in found.of("torch.zeros(3)").links


@pytest.mark.parametrize(
    ("given", "first", "then"),
    [
        ("", "device = x.device", "rows = (rows + 1).to(device)"),
        ("", "device = x.device", "print(device)"),
        (", device=None", "pass", "rows[0] = x"),
        (", device", "pass", "rows[0] = x"),
        (", device", "pass", "place(rows)"),
        ("", "device = None", "pass"),
    ],
)
def test_a_device_that_is_used_or_is_for_others(placed, given: str, first: str, then: str) -> None:
    found = placed(UNUSED.format(given=given, first=first, then=then))
    assert all("unused-device" not in one.links for one in found.conflicts)


AWARE = """
    from models import load
    from torch.utils.data import DataLoader
    def run(data, device, options):
        net = load(options)
        {told}
        net(torch.zeros(3, device=device))
        for x in DataLoader(data):
            net(x)
"""


def test_a_module_that_is_told_the_device_by_a_method_of_its_own_may_move_what_it_gets(placed) -> None:
    assert placed(AWARE.format(told="net.set_device(device)")).births == []


@pytest.mark.parametrize("told", ["net.to(device)", "net.eval()", "net.to(device).set_epoch(3)"])
def test_one_that_is_moved_or_told_something_else_does_not(placed, told: str) -> None:
    assert placed(AWARE.format(told=told)).births
