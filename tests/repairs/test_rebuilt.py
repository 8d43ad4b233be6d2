"""A batch that a comprehension builds anew is moved there, value by value."""

import pytest
from devfix_codemods.findings import Safety

PROGRAM = """
from transformers import AutoModel
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    def forward(self, batch):
        return self.layer(batch["x"])
def main(data, device):
    net = Net().to(device)
    model = AutoModel.from_pretrained("m").to(device)
    for batch in torch.utils.data.DataLoader(data):
        {rebuilt}
        loss = {loss}
        loss.backward()
"""
MOVED = {
    "read by keys": (
        "batch = {k: v for k, v in batch.items()}",
        "net(batch).sum()",
        "batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}",
    ),
    "some of them": (
        'batch = {k: v for k, v in batch.items() if k != "text"}',
        "model(**batch).loss",
        'batch = {k: v.to(device, non_blocking=True) for k, v in batch.items() if k != "text"}',
    ),
    "under another name": (
        "inputs = {key: batch[key] for key in batch.keys()}",
        "model(**inputs).loss",
        "inputs = {key: batch[key].to(device, non_blocking=True) for key in batch.keys()}",
    ),
    "changed on the way": (
        "inputs = {k: torch.squeeze(v, 0) for k, v in batch.items()}",
        "model(**inputs).loss",
        "inputs = {k: torch.squeeze(v, 0).to(device, non_blocking=True) for k, v in batch.items()}",
    ),
    "in the call itself": (
        "pass",
        "model(**{k: v for k, v in batch.items()}).loss",
        "loss = model(**{k: v.to(device, non_blocking=True) for k, v in batch.items()}).loss",
    ),
    "a list": (
        "batch = [one for one in batch]",
        "model(*batch).loss",
        "batch = [one.to(device, non_blocking=True) for one in batch]",
    ),
}


@pytest.mark.parametrize(("rebuilt", "loss", "line"), MOVED.values(), ids=MOVED)
def test_its_values_are_moved_where_it_is_built(repairs, rebuilt: str, loss: str, line: str) -> None:
    wrong = PROGRAM.format(rebuilt=rebuilt, loss=loss)
    assert repairs.added(wrong) == [line]
    assert repairs.added(wrong, Safety.SAFE) == []


LEFT = {
    "moved where it is built": ("batch = {k: v.to(device) for k, v in batch.items()}", "model(**batch).loss"),
    "moved behind": (
        "batch = {k: v for k, v in batch.items()}",
        "model(**{k: v.to(device) for k, v in batch.items()}).loss",
    ),
}


@pytest.mark.parametrize(("rebuilt", "loss"), LEFT.values(), ids=LEFT)
def test_what_is_left(repairs, rebuilt: str, loss: str) -> None:
    assert repairs.added(PROGRAM.format(rebuilt=rebuilt, loss=loss)) == []


def test_a_row_has_no_move(repairs) -> None:
    wrong = PROGRAM.format(rebuilt="batch = {k: [v, v] for k, v in batch.items()}", loss="model(**batch).loss")
    assert not [line for line in repairs.added(wrong) if "].to(" in line]
