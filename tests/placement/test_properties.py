"""What a property gives is what its function returns."""

import pytest

PROGRAM = """
    {imports}
    class Bank{base}:
        def __init__(self):
            {super_}
            {stored}
        {decorator}
        def queue(self):
            return {given}
    def run(x, device):
        net = nn.Linear(3, 3).to(device)
        bank = Bank()
        return net(x) @ {read}
"""


def program(
    given: str = "self._queue",
    read: str = "bank.queue",
    stored: str = "self._queue = torch.zeros(3, 3)",
    decorator: str = "@property",
) -> str:
    imports = "from functools import cached_property" if "cached" in decorator else ""
    return PROGRAM.format(
        given=given, read=read, stored=stored, decorator=decorator, imports=imports, base="", super_="pass"
    )


OTHERS = {
    "what is moved": program("self._queue.cuda()"),
    "what is moved where it is read": program(read="bank.queue.to(device)"),
    "a number": program("self._queue.size(0)"),
    "a method, which nothing calls": program(decorator="", read="bank.queue()[0].to(device)"),
}
HOST = {
    "what an attribute keeps": program(),
    "what is computed of that": program("self._queue * 2"),
    "what it makes": program("torch.zeros(3, 3)", stored="pass"),
    "once for all": program(decorator="@cached_property"),
}


@pytest.mark.parametrize("correct", OTHERS.values(), ids=OTHERS)
def test_what_is_not_of_the_host(placed, correct: str) -> None:
    assert placed(correct).births == []


@pytest.mark.parametrize("wrong", HOST.values(), ids=HOST)
def test_what_is(placed, wrong: str) -> None:
    assert [one for one in placed(wrong).births if "zeros" in one]
