"""Moving averages of weights, and where their modules are moved."""

import pytest
from devfix_codemods.placement.averages import stray

PROGRAM = """
from copy import deepcopy
class Average:
    def __init__(self, model, device=None):
        self.kept = {kept}
        self.model = {live}
    def update(self, other):
        for k, m in zip(self.kept.parameters(), {source}.parameters()):
            {update}
"""


@pytest.mark.parametrize(
    ("kept", "live", "source", "update"),
    [
        ("deepcopy(model).cpu()", "model.cuda()", "self.model", "k.lerp_(m, 0.1)"),
        ("deepcopy(model).to(device)", "model", "other", "k.lerp_(m, 0.1)"),
        ("deepcopy(model).cpu()", "model.cuda()", "self.model", "k.data.mul_(0.9).add_(m.data, alpha=0.1)"),
    ],
)
def test_averages_that_are_placed_by_themselves(placed, kept: str, live: str, source: str, update: str) -> None:
    found = placed(PROGRAM.format(kept=kept, live=live, source=source, update=update))
    assert len(list(stray(found.analysis))) == 1


@pytest.mark.parametrize(
    ("kept", "live", "source", "update"),
    [
        ("deepcopy(model)", "model", "other", "k.lerp_(m, 0.1)"),
        ("deepcopy(model).to(device)", "model.to(device)", "self.model", "k.lerp_(m, 0.1)"),
        ("deepcopy(model).cpu()", "model.cpu()", "self.model", "k.lerp_(m, 0.1)"),
        ("deepcopy(model).cpu()", "model.cuda()", "self.model", "k.lerp_(m.to(k.device), 0.1)"),
        ("deepcopy(model).cpu()", "model.cuda()", "self.model", "k.copy_(m)"),
        ("deepcopy(model).cpu()", "model.cuda()", "self.model", "k.mul_(0.9).add_(0.1 * m.to(k.device))"),
        ("deepcopy(model).cpu()", "model.cuda()", "self.model", "k.mul_(0.9).add_(m * k)"),
        ("deepcopy(model)", "model", "other", "k.mul_(0.9).add_((1 - decay) * m)"),
    ],
)
def test_averages_that_follow_the_weights(placed, kept: str, live: str, source: str, update: str) -> None:
    found = placed(PROGRAM.format(kept=kept, live=live, source=source, update=update))
    assert list(stray(found.analysis)) == []


COPIES = """
import torch
net = torch.nn.Linear(2, 2){net}
kept = {kept}
def update(kept, net):
    for k, m in zip(kept, net.parameters()):
        k.mul_(0.9).add_(m, alpha=0.1)
update(kept, net)
for k, m in zip(kept, list(net.parameters())):
    k.lerp_(m, 0.1)
"""


@pytest.mark.parametrize(
    ("net", "kept", "found"),
    [
        (".cuda()", "[p.detach().cpu() for p in net.parameters()]", 1),
        (".cuda()", "[p.detach().clone() for p in net.parameters()]", 0),
        (".cpu()", "[p.detach().cpu() for p in net.parameters()]", 0),
        (".cuda()", "[torch.zeros(2).cpu() for _ in range(2)]", 0),
    ],
)
def test_copies_of_weights_on_the_host(placed, net: str, kept: str, found: int) -> None:
    assert len(list(stray(placed(COPIES.format(net=net, kept=kept)).analysis))) == found


GIVEN = """
import torch
from copy import deepcopy
def update(ema, net):
    for k, m in zip(ema.parameters(), net.parameters()):
        k.lerp_(m, 0.1)
net = torch.nn.Linear(2, 2).to(device)
ema = {ema}
update(ema, net)
"""


@pytest.mark.parametrize(
    ("ema", "found"), [('deepcopy(net).to("cpu")', 1), ("deepcopy(net)", 0), ("net.to(device)", 0)]
)
def test_models_that_callers_place(placed, ema: str, found: int) -> None:
    assert len(list(stray(placed(GIVEN.format(ema=ema)).analysis))) == found
