"""Parts of batches that the program itself asks whether they are None. Seen through DVF101."""

from textwrap import dedent

import pytest
from devfix_codemods import testing

CODE = "DVF101"

LOOP = """
import torch
def train(net, loader, device):
    for x, mask, y in loader:
        {first}
        {second}
        scores = net.forward(x, mask)
        loss = torch.nn.functional.cross_entropy(scores, y.to(device))
        loss.backward()
"""
X_MOVED = ["x = x.to(device)", "if x is not None: x = x.to(device)"]


@pytest.mark.parametrize("first", X_MOVED)
def test_what_is_moved_wherever_it_is_there_is_left_alone(rule, first: str) -> None:
    assert rule.findings(LOOP.format(first=first, second="if mask is not None: mask = mask.to(device)")) == ()


@pytest.mark.parametrize("asked", ["if mask is not None: mask = mask.float()", "if mask is None: print(1)"])
def test_what_may_be_none_is_moved_where_it_is_there(rule, asked: str) -> None:
    after = rule.fixed(LOOP.format(first="x = x.to(device)", second=asked), unsafe=True)
    assert "        if mask is not None:\n            mask = mask.to(device)\n" in after


READ = """
import torch
class Encoder(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.embed = torch.nn.DataParallel(torch.nn.Linear(size, size))
        self.layers = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(size, 2), 2)
    def forward(self, batch):
        x = batch["data"]
        mask = batch["masks"]
        {asked}
        return self.layers(self.embed(x.cuda().float()), src_key_padding_mask=~mask)
"""
LAYERS = "next(self.layers.parameters()).device"
ONES = "torch.ones(len(x), 3, dtype=torch.bool).cuda()"


def test_what_is_read_and_may_be_none_is_moved_behind_that(rule) -> None:
    after = rule.fixed(READ.format(asked=f"mask = mask if mask is not None else {ONES}"), unsafe=True)
    assert f'mask = batch["masks"]\n        if mask is not None:\n            mask = mask.to({LAYERS})\n' in after


def test_what_is_read_and_surely_there_is_moved_at_once(rule) -> None:
    after = rule.fixed(READ.format(asked=f"mask = mask if len(x) > 3 else {ONES}"), unsafe=True)
    assert f'mask = batch["masks"].to({LAYERS})' in after


def test_what_was_used_before_is_there(rule) -> None:
    asked = f"n = mask.shape[0]\n        mask = mask if mask is not None else {ONES}"
    assert f'mask = batch["masks"].to({LAYERS})' in rule.fixed(READ.format(asked=asked), unsafe=True)


def test_what_is_moved_itself_says_no_device_before(rule) -> None:
    program = READ.format(asked=f"mask = mask if len(x) > 3 else {ONES}")
    assert "x.device" not in rule.fixed(program, unsafe=True)


SOMETIMES = """
    import torch
    from torch import nn

    class Process(nn.Module):
        def __init__(self, parts):
            super().__init__()
            self.parts = nn.ModuleDict(parts)

        def forward(self, rows):
            scale = {first}
            for name, part in self.parts.items():
                found = part(self.rows)
                if name == "scale":
                    scale = found
            total = torch.zeros(3, 3)
            if scale is not None:
                total = total + torch.diag_embed(scale)
            return total
"""


@pytest.mark.parametrize(
    ("first", "title"),
    [("None", "Move it to `scale.device` where they meet"), ("self.scale(rows)", "Make it on `scale.device`")],
)
def test_what_is_none_on_some_path_is_asked_for_its_device_where_it_is_none_no_more(first: str, title: str) -> None:
    (finding,) = testing.findings(dedent(SOMETIMES.format(first=first)), "DVF104")
    assert finding.fix is not None
    assert finding.fix.title == title
