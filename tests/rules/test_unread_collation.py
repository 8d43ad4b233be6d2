"""DVF101: batches of loaders whose collate function cannot be read, and may have placed them."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF101"

PROGRAM = """
    import functools
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, default_collate
    from transformers import DataCollatorWithPadding
    from elsewhere import Collator, Data, batching, collate

    def own(rows):
        return torch.stack([row[0] for row in rows]), torch.stack([row[1] for row in rows])

    def fit(data, device, words, flag):
        net = nn.Linear(3, 1).to(device)
        {loader}
        for x, y in loader:
            x = {x}
            nn.functional.mse_loss(net(x), y).backward()
"""
UNREAD = [
    "loader = DataLoader(data, collate_fn=collate)",
    "loader = DataLoader(data, collate_fn=batching.collate)",
    "loader = DataLoader(data, collate_fn=Collator(words))",
    "loader = DataLoader(data, collate_fn=Data(words).collate)",
    "loader = DataLoader(data, collate_fn=functools.partial(collate, size=3))",
    "loader = DataLoader(data, collate_fn=collate if flag else own)",
    "loader = DataLoader(data); loader.collate_fn = collate",
]
READ = [
    "loader = DataLoader(data)",
    "loader = DataLoader(data, collate_fn=None)",
    "loader = DataLoader(data, collate_fn=own)",
    "loader = DataLoader(data, collate_fn=lambda rows: default_collate(rows))",
    "loader = DataLoader(data, collate_fn=default_collate)",
    "loader = DataLoader(data, collate_fn=DataCollatorWithPadding(words))",
]


@pytest.mark.parametrize("loader", UNREAD)
def test_what_may_have_been_placed_is_unsafe(rule, loader: str) -> None:
    program = PROGRAM.format(loader=loader, x="x.float()")
    assert rule.safeties(program) == [Safety.UNSAFE] * 2
    assert "        y = y.to(device" in rule.unchanged_unless_unsafe(program)


@pytest.mark.parametrize("loader", UNREAD)
def test_a_move_beside_it_says_that_it_was_not(rule, loader: str) -> None:
    assert rule.safeties(PROGRAM.format(loader=loader, x="x.to(device)")) == [Safety.SAFE]


@pytest.mark.parametrize("loader", READ)
def test_what_is_read_or_known_is_safe(rule, loader: str) -> None:
    assert rule.safeties(PROGRAM.format(loader=loader, x="x.float()")) == [Safety.SAFE] * 2
