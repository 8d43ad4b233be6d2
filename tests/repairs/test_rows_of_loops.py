"""Rows that `zip` and `enumerate` make, in loops and by `next`: their parts are moved, never the row."""

from textwrap import dedent

import pytest
from devfix_codemods.findings import Safety

PROGRAM = """
def train(loader, others, net, device):
    net.to(device)
    {start}
    {loop}:
        {taken}
        loss = net({given})
        loss.backward()
"""


def program(loop: str, taken: str, given: str, start: str = "pass") -> str:
    return PROGRAM.format(start=start, loop=loop, taken=taken, given=given)


FINE = {
    "all parts are moved": program("for row in zip(loader, others)", "pass", "row[0].to(device), row[1].to(device)"),
    "a number": program("for row in enumerate(loader)", "pass", "row[0]"),
    "unpacked and moved": program("for row in enumerate(loader)", "i, x = row", "x.to(device)"),
    "by next, and moved": program("while True", "i, x = next(rows)", "x.to(device)", "rows = iter(enumerate(loader))"),
    "rows of numbers": program("for row in zip(range(3), range(3))", "pass", "row[0], row[1]"),
    "a row that is moved by a function": program("for row in zip(loader, others)", "row = to_device(row)", "row[0]"),
    "by next with a default": program(
        "while True", "i, x = next(rows, None) or (0, 0)", "x.to(device)", "rows = iter(zip())"
    ),
    "a value of a mapping": program("for key in names.items()", "pass", "key[0]", "names = {'a': 3}"),
}
MOVED = {
    "a part of a row": (
        program("for row in zip(loader, others)", "pass", "row[0], row[1].to(device)"),
        "loss = net(row[0].to(device, non_blocking=True), row[1].to(device))",
    ),
    "what is counted": (
        program("for row in enumerate(loader)", "pass", "row[1]"),
        "loss = net(row[1].to(device))",
    ),
    "unpacked within": (
        program("for row in zip(loader, others)", "a, b = row", "a, b.to(device)"),
        "a = a.to(device)",
    ),
    "unpacked in the head": (
        program("for a, b in zip(loader, others)", "pass", "a, b.to(device)"),
        "a = a.to(device)",
    ),
    "by next": (
        program("while True", "i, x = next(rows)", "x", "rows = iter(enumerate(loader))"),
        "x = x.to(device)",
    ),
    "by next of what is an iterator already": (
        program("while True", "i, (x, y) = next(rows)", "x, y.to(device)", "rows = enumerate(loader)"),
        "x = x.to(device)",
    ),
    "a row by next": (
        program("while True", "row = next(rows)", "row[0], row[1].to(device)", "rows = zip(loader, others)"),
        "loss = net(row[0].to(device), row[1].to(device))",
    ),
    "measured first": (
        program("for row in zip(loader, others)", "print(row[0].shape)", "row[0], row[1].to(device)"),
        "loss = net(row[0].to(device, non_blocking=True), row[1].to(device))",
    ),
}


@pytest.mark.parametrize("text", FINE.values(), ids=FINE)
def test_rows_that_are_moved(repairs, text: str) -> None:
    assert repairs.findings(text) == ()


@pytest.mark.parametrize(("text", "line"), MOVED.values(), ids=MOVED)
def test_parts_that_stay(repairs, text: str, line: str) -> None:
    (added,) = repairs.added(text, Safety.UNSAFE)
    assert added.replace(", non_blocking=True", "") == line.replace(", non_blocking=True", "")


SHOWN = """
def run(net, loader, device):
    net.to(device)
    x, y = next(iter(loader))
    {then}
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        net(x, y)
"""


@pytest.mark.parametrize("then", ["show(x, y)", "plt.imshow(x[0])", "size = x.size(1) + y.max()", "print(x, y)"])
def test_a_batch_that_is_taken_once_is_no_twin(repairs, then: str) -> None:
    assert repairs.findings(SHOWN.format(then=then)) == ()


def test_a_loop_that_unpacks_its_rows_within_is_a_twin(repairs) -> None:
    text = """
        def train(net, loader, device):
            for x, y in loader:
                net.step(x.to(device), y.to(device))
        def test(net, loader, device):
            for row in loader:
                x, y = row
                net.step(x, y.to(device))
    """
    assert "x = x.to(device)" in repairs.added(text)


PRINTED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    def forward(self, x):
        return self.layer(x)
def run(loader):
    net = Net()
    {shown}
    device = "cpu"
    if torch.cuda.is_available():
        device = "cuda"
    optimizer = torch.optim.SGD(net.parameters())
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = (net(x) - y).sum()
        loss.backward()
"""


@pytest.mark.parametrize(
    "shown", ["print(net)", "print('net', net)", "logger.info(net)", "assert isinstance(net, Net)"]
)
def test_a_model_that_is_only_shown_is_moved_behind_its_device(repairs, shown: str) -> None:
    assert repairs.added(PRINTED.format(shown=shown), Safety.UNSAFE) == ["net.to(device)"]


@pytest.mark.parametrize("used", ["export(net)", "copies = [copy(net)]"])
def test_what_uses_a_model_is_not_left_behind(repairs, used: str) -> None:
    assert repairs.added(PRINTED.format(shown=used), Safety.UNSAFE) != ["net.to(device)"]


FIRST = """
def train(net, loader, device):
    for row in loader:
        x, y = row
        net.step(x.to(device), y.to(device))
"""
NO_TWINS = {
    "what is moved when it is computed": """
        def test(net, loader, device):
            for row in loader:
                x, y = row
                x = x + net.noise
                net.step(x.to(device), y.to(device))
    """,
    "what a mapping keeps": """
        def move(old, device):
            for name, x in old.items():
                keep(x.to(device))
        def show(new):
            for name, x in new.items():
                keep(x)
    """,
}


@pytest.mark.parametrize("text", NO_TWINS.values(), ids=NO_TWINS)
def test_loops_that_are_no_twins(repairs, text: str) -> None:
    assert repairs.findings(FIRST + dedent(text)) == ()


IMPORTED = """
{imported}
def mask(lengths, n):
    steps = {called}(n)
    return steps < lengths.unsqueeze(1).expand(n, n)
"""


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("import torch as th", "th.arange"),
        ("from torch import arange", "arange"),
        ("from torch import arange as steps_of", "steps_of"),
    ],
)
def test_a_factory_by_any_name(repairs, imported: str, called: str) -> None:
    (line,) = repairs.added(IMPORTED.format(imported=imported, called=called))
    assert line == f"steps = {called}(n, device=lengths.device)"


@pytest.mark.parametrize("imported", ["from numpy import arange as steps_of", "from tools import arange as steps_of"])
def test_what_another_library_makes(repairs, imported: str) -> None:
    assert repairs.findings(IMPORTED.format(imported=imported, called="steps_of")) == ()
