"""A batch that a model reads by keys has no `.to`: its items are moved."""

import pytest
from devfix_codemods.findings import Safety

PROGRAM = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    def forward(self, batch):
        {forward}
def main(data, device):
    net = Net().to(device)
    for batch in torch.utils.data.DataLoader(data):
        loss = net(batch)
        loss.backward()
"""
READ = 'return (self.layer(batch["x"]) - batch["y"]).sum()'
MOVED = "batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}"


def test_the_items_are_moved(repairs) -> None:
    assert repairs.added(PROGRAM.format(forward=READ)) == [MOVED]


def test_no_fix_is_safe(repairs) -> None:
    assert repairs.added(PROGRAM.format(forward=READ), Safety.SAFE) == []


@pytest.mark.parametrize("forward", ["return self.layer(batch).sum()", "return self.layer(batch[:, 0]).sum()"])
def test_a_batch_that_is_one_tensor(repairs, forward: str) -> None:
    (line,) = repairs.added(PROGRAM.format(forward=forward))
    assert line.startswith("batch = batch.to(device")
