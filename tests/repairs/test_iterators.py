"""Loops over what Python makes of a loader: their elements are batches of it, on the host, or made of these."""

import pytest
from devfix_codemods.findings import Safety

PROGRAM = """
import itertools
import itertools as tools
from itertools import islice
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 3).to(device)
loader = DataLoader([torch.zeros(3)])

def scaled(batch):
    return batch / 255

def moved(batch):
    return batch.to(device)

for x, y in {iterable}:
    x = x.to(device)
    F.cross_entropy(net(x), y)
"""
GIVING = (
    "loader",
    "islice(loader, 3)",
    "itertools.islice(loader, 3)",
    "tools.islice(loader, 3)",
    "tools.cycle(loader)",
    "itertools.zip_longest(loader, loader)",
    "filter(lambda b: b is not None, loader)",
    "map(lambda b: (b[0] / 255, b[1]), loader)",
    "itertools.islice(map(lambda b: (b[0] / 255, b[1]), loader), 3)",
)


@pytest.mark.parametrize("iterable", GIVING)
def test_elements_are_on_the_host(repairs, iterable: str) -> None:
    assert repairs.added(PROGRAM.format(iterable=iterable), Safety.UNSAFE) == ["y = y.to(device)"]


@pytest.mark.parametrize(
    "iterable",
    [
        "map(lambda b: (b[0].to(device), b[1].to(device)), loader)",
        "map(lambda x, y: (x.to(device), y.to(device)), loader, loader)",
        "zip(map(moved, loader), map(moved, loader))",
        "itertools.islice(zip(map(moved, loader), map(moved, loader)), 3)",
    ],
)
def test_elements_that_are_moved(repairs, iterable: str) -> None:
    assert repairs.added(PROGRAM.format(iterable=iterable), Safety.UNSAFE) == []


def test_a_function_that_is_mapped(repairs) -> None:
    program = PROGRAM.format(iterable="()") + "for z in map(scaled, loader):\n    net(z)\n"
    (added,) = repairs.added(program, Safety.UNSAFE)
    assert added.startswith("z = z.to(device")


def test_the_next_one(repairs) -> None:
    program = PROGRAM.format(iterable="()") + "rows = itertools.cycle(loader)\ny = next(rows)\nnet(y)"
    (added,) = repairs.added(program)
    assert added.startswith("y = next(rows).to(device")


MAPPED = """
def main(loader, device):
    net = nn.Linear(3, 3)
    put = lambda one: one.to(device)
    for batch in loader:
        {mapped}
        F.cross_entropy(net(x), y)
"""


@pytest.mark.parametrize(
    "mapped",
    ["x, y = map(put, batch)", "x, y = list(map(put, batch))", "x, y = batch\n        x, y = map(put, (x, y))"],
)
def test_a_module_that_meets_what_is_mapped_is_moved(repairs, mapped: str) -> None:
    assert repairs.added(MAPPED.format(mapped=mapped), Safety.UNSAFE) == ["net = nn.Linear(3, 3).to(device)"]


@pytest.mark.parametrize("mapped", ["x, y = map(torch.squeeze, batch)", "rows = list(map(net, loader))"])
def test_what_is_mapped_and_not_moved(repairs, mapped: str) -> None:
    assert repairs.added(MAPPED.format(mapped=f"{mapped}; x, y = batch"), Safety.UNSAFE) == []
