"""Batches whose parts a call gets by a star: `step(*batch)`, `step(**batch)`, `model(*batch)`."""

import pytest
from devfix_codemods.findings import Safety

PROGRAM = """
from torch.utils.data import DataLoader, TensorDataset

{made}
def step({taken}):
{first}    F.mse_loss(net(x), y).backward()

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 3).to(device)
data = TensorDataset(torch.randn(8, 3), torch.randn(8, 3))
for batch in {loader}:
    {called}
"""
ROWS = """
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, at):
        return {given}
"""
TENSORS = '{"x": torch.zeros(3), "y": torch.zeros(3)}'


def program(
    called: str, taken: str = "x, y", first: str = "", made: str = "", loader: str = "DataLoader(data, batch_size=2)"
) -> str:
    first = "".join(f"    {line}\n" for line in first.splitlines())
    return PROGRAM.format(called=called.replace("\n", "\n    "), taken=taken, first=first, made=made, loader=loader)


BOTH = ["x = x.to(device, non_blocking=True)", "y = y.to(device, non_blocking=True)"]
MOVED = {
    "parts of a list": (program("step(*batch)"), BOTH),
    "behind what is given by itself": (program("step(1, *batch)", taken="at, x, y"), BOTH),
    "beside what has a default": (program("step(*batch)", taken="x, y, scale=1"), BOTH),
    "entries of a mapping": (
        program("step(**batch)", made=ROWS.format(given=TENSORS), loader="DataLoader(Rows(), batch_size=2)"),
        BOTH,
    ),
    "the one that is left": (program("step(*batch)", first="x = x.to(device)"), ["y = y.to(device)"]),
}
LEFT = {
    "what is moved by its parts before": program("batch = [one.to(device) for one in batch]\nstep(*batch)"),
    "what is moved where it is given": program("step(*(one.to(device) for one in batch))"),
    "what the function moves": program("step(*batch)", first="x, y = x.to(device), y.to(device)"),
    "what other calls give placed": program("step(*batch)\nstep(batch[0].to(device), batch[1].to(device))"),
    "what the data set has placed": program(
        "step(**batch)",
        made=ROWS.format(given='{"x": torch.zeros(3).cuda(), "y": torch.zeros(3).cuda()}'),
        loader="DataLoader(Rows(), batch_size=2)",
    ),
    "what stands behind no star": program("step(*rows(batch))", made="def rows(batch):\n    return move(batch)\n"),
}


@pytest.mark.parametrize("correct", LEFT.values(), ids=LEFT)
def test_what_is_left(repairs, correct: str) -> None:
    assert repairs.added(correct) == []


@pytest.mark.parametrize(("wrong", "lines"), MOVED.values(), ids=MOVED)
def test_parts_are_moved_where_they_get_their_names(repairs, wrong: str, lines: list[str]) -> None:
    assert repairs.added(wrong, Safety.SAFE) == lines


NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    def forward(self, x, y):
        return F.mse_loss(self.layer(x), y)
"""


def test_a_module_gets_moved_parts(repairs) -> None:
    wrong = program("model(*batch).backward()").replace("for batch", f"{NET}model = Net().to(device)\nfor batch")
    assert repairs.added(wrong, Safety.SAFE) == []
    assert repairs.added(wrong, Safety.UNSAFE) == ["batch = [one.to(device, non_blocking=True) for one in batch]"]
