"""What placement makes of rows: programs with a conflict of places, and their like without."""

import ast
from textwrap import dedent

import pytest
from devfix_codemods.placement.analysis import Analysis

HEAD = """
import torch
import torch.nn.functional as F
import torch.distributions as D
device = torch.device("cuda")
x = torch.rand(3, 3, device=device)
h = torch.rand(3, 3)
"""
SURE = 0.7

CONFLICTS = {
    "masks": "x.masked_fill(h > 0, 0.0)",
    "bounds": "x.clamp(min=h)",
    "the larger": "torch.max(x, h)",
    "values that are put": "x.index_put_((torch.arange(3, device=device),), h)",
    "grids": "torch.meshgrid(x, h)",
    "blocks": "torch.block_diag(x, h)",
    "losses": "F.kl_div(x, h)",
    "noise of numbers": "x + torch.normal(0.0, 1.0, (3, 3))",
    "a distribution's parameters": "D.Normal(x, h)",
    "a distribution of numbers": "x + D.Normal(0.0, 1.0).sample((3, 3))",
    "a padded sequence": "x + torch.nn.utils.rnn.pad_sequence([h, h])",
    "gathered tensors": "import torch.distributed as dist\ndist.all_gather([h, h], x)",
    "reduced tensors": "import torch.distributed as dist\ndist.all_reduce(h)",
    "boxes": "import torchvision\ntorchvision.ops.nms(x, h, 0.5)",
}
NONE = {
    "a number beside a mask": "x.masked_fill(x > 0, torch.tensor(-1.0))",
    "a number for a bound": "torch.max(x, torch.tensor(0.0))",
    "lengths of a ctc loss": "F.ctc_loss(x, h, torch.ones(3), torch.ones(3))",
    "lengths of a packed sequence": "torch.nn.utils.rnn.pack_padded_sequence(x, h[0])",
    "sizes": "x.view_as(h)",
    "a count": "x.repeat(h[0, 0], 1)",
    "a dimension": "torch.roll(x, h[0, 0].long())",
    "a copy": "x.copy_(h)",
    "a copy to the host": "h.copy_(x) + torch.rand(3)",
    "a distribution of numbers": "D.Normal(0.0, 1.0).log_prob(x)",
    "noise on the device": "x + torch.normal(0.0, 1.0, (3, 3), device=device)",
    "noise of the device": "x + torch.normal(x, x)",
    "made from elsewhere": "x + x.new_tensor(h)",
    "shapes broadcast": "torch.broadcast_tensors(x, h)",
    "reduced on the device": "import torch.distributed as dist\ndist.all_reduce(x)",
    "reduced by gloo": "import torch.distributed as dist\ndist.init_process_group('gloo')\ndist.broadcast(h, 0)",
    "a norm": "torch.nn.utils.clip_grad_norm_([x], 1.0) + x",
}


def conflicts(text: str) -> list[float]:
    found = Analysis(ast.parse(HEAD + dedent(text))).conflicts
    return [one.confidence for one in found if one.confidence > SURE]


@pytest.mark.parametrize("text", CONFLICTS.values(), ids=CONFLICTS)
def test_conflicts(text: str) -> None:
    assert conflicts(text)


@pytest.mark.parametrize("text", NONE.values(), ids=NONE)
def test_no_conflicts(text: str) -> None:
    assert not conflicts(text)


LIGHTNING = """
import torch
from models import Net
net = Net.load_from_checkpoint("net.ckpt"{})
x = torch.rand(3, 3, device="cuda")
loss = net(x).sum()
loss.backward()
"""


def test_a_loaded_module_is_on_the_host_unless_told() -> None:
    assert Analysis(ast.parse(LIGHTNING.format(""))).conflicts
    assert not Analysis(ast.parse(LIGHTNING.format(", map_location='cuda'"))).conflicts
