"""What a driver takes to hold, and the project does not show: its verdict is conditional, and names it, or is none."""

from collections.abc import Callable
from pathlib import Path

import pytest
from devfix.replay.results import ReplayResult
from devfix.replay.verdict_kinds import Kind

from .test_harness import ON_X, POSITIONS

Drive = Callable[..., ReplayResult]

CALLERS = {
    "nobody": ("", Kind.CONFIRMED, "; if `x` is on the accelerator"),
    "itself": ("\n    return positions(x, scale - 1)", Kind.CONFIRMED, "; if `x` is on the accelerator"),
    "who has it from somewhere": (
        "\n\n\ndef main(path):\n    return positions(read(path))\n",
        Kind.INCONCLUSIVE,
        "; but only if `x` is on the accelerator, where nothing in the project puts it",
    ),
    "who hands it on": (
        "\n\n\nROWS = map(positions, [])\n",
        Kind.INCONCLUSIVE,
        "; but only if `x` is on the accelerator",
    ),
    "who puts it on a device": (
        "\n\n\ndef main(rows):\n    return positions(rows.to('cuda'))\n",
        Kind.CONFIRMED,
        "; with `x` on the accelerator",
    ),
}


QUICK = ("who has it from somewhere", "who puts it on a device")
CHOSEN = [pytest.param(*one, id=name, marks=[] if name in QUICK else pytest.mark.slow) for name, one in CALLERS.items()]


@pytest.mark.parametrize(("caller", "kind", "told"), CHOSEN)
def test_callers_of_the_project_may_have_their_values_elsewhere(
    drive: Drive, caller: str, kind: Kind, told: str
) -> None:
    result = drive(POSITIONS.rstrip() + caller + "\n", *ON_X)
    assert result.verdict.kind is kind, result.verdict.reason
    assert told in result.verdict.reason


@pytest.mark.slow
def test_callers_in_other_files_count(drive: Drive, tree: Path) -> None:
    (tree / "main.py").write_text("from pack.ops import positions\n\nprint(positions(open('x').read()))\n")
    assert drive(POSITIONS, *ON_X).verdict.kind is Kind.INCONCLUSIVE


FORWARD = """
import torch
from torch import nn


class Positions(nn.Module):
    def forward(self, x):
        return x + torch.arange(x.shape[0])


def main(path):
    return Positions()(read(path))
"""


@pytest.mark.slow
def test_what_torch_calls_has_its_values_where_the_module_is(drive: Drive) -> None:
    result = drive(FORWARD, "torch.arange(x.shape[0])", "torch.arange(x.shape[0], device=x.device)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason


TRAIN = """
import torch


def train(net, loader, epochs=1):
    for epoch in range(epochs):
        for x, y in loader:
            loss = net(x.cuda()).sum() - y.cuda().sum()
            loss.backward()
    return net{caller}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("caller", "kind"), [("", Kind.CONFIRMED), ("\n\n\ndef main(options):\n    train(*options)", Kind.CONDITIONAL)]
)
def test_a_model_and_a_loader_of_the_drivers_own(drive: Drive, caller: str, kind: Kind) -> None:
    text = TRAIN.format(caller=caller)
    place = "next(net.parameters()).device"
    result = drive(text, "net(x.cuda()).sum() - y.cuda()", f"net(x.to({place})).sum() - y.to({place})")
    assert result.verdict.kind is kind, result.verdict.reason
    assert ("as the driver makes them" in result.verdict.reason) == bool(caller)


@pytest.mark.slow
def test_what_meets_a_device_error_on_an_accelerator_now_is_not_repaired_for_the_host(drive: Drive) -> None:
    text = TRAIN.format(caller="")
    result = drive(text, "net(x.cuda()).sum() - y.cuda()", "net(x).sum() - y")
    assert result.verdict.kind in (Kind.INCONCLUSIVE, Kind.REFUTED), result.verdict.reason


LINES = """
import torch

rows = open("/nowhere/at/all").read()
net = open(rows)
x = torch.rand(3).cuda()
print(net(x) + torch.zeros(3))
"""


def test_what_lines_that_ran_alone_were_given_is_told(drive: Drive) -> None:
    result = drive(LINES, "torch.zeros(3)", "torch.zeros(3, device=x.device)")
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    assert "the program comes to these lines, and `net` is as the driver makes it" in result.verdict.reason


SHOWN = """
import numpy as np


def first({name}):
    image, label = {name}[0]
    return np.asarray(image).sum()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"), [("dataset", Kind.HARMLESS), ("train_dataset", Kind.HARMLESS), ("pair", Kind.CONFIRMED)]
)
def test_samples_of_a_data_set_are_on_the_host(drive: Drive, name: str, kind: Kind) -> None:
    pytest.importorskip("numpy")
    result = drive(SHOWN.format(name=name), "np.asarray(image)", "np.asarray(image.cpu())")
    assert result.verdict.kind is kind, result.verdict.reason


MOVED = """
import torch


def positions(rows, {name}, scale=1.0):
    x = {moved}
    return x * scale + torch.arange(x.shape[0])


def main(path, *others):
    return positions(read(path), *others)
"""


@pytest.mark.parametrize(
    ("name", "moved", "kind", "told"),
    [
        pytest.param(
            "device",
            "rows.to(device)",
            Kind.CONDITIONAL,
            "if `device` is the accelerator",
            id="moved to a device",
        ),
        pytest.param(
            "like",
            "rows.to(like.device)",
            Kind.INCONCLUSIVE,
            "if `like` is on the accelerator",
            id="moved to another tensor",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "like",
            "rows[like.shape[0]:]",
            Kind.INCONCLUSIVE,
            "if `rows` is on the accelerator",
            id="moved nowhere",
        ),
    ],
)
def test_a_condition_names_by_what_the_values_live_that_met(
    drive: Drive, name: str, moved: str, kind: Kind, told: str
) -> None:
    text = MOVED.format(name=name, moved=moved)
    result = drive(text, "torch.arange(x.shape[0])", "torch.arange(x.shape[0], device=x.device)")
    assert result.verdict.kind is kind, result.verdict.reason
    assert told in result.verdict.reason
    assert result.verdict.reason.count("the accelerator") == 1


FOLLOWED = """
import torch

rows = open("/nowhere/at/all").read()
x = torch.rand(3).cuda()
y = x + torch.zeros(3)
z = {behind}
"""


@pytest.mark.parametrize(
    ("behind", "kind"),
    [
        pytest.param("y + torch.ones(3)", Kind.INCONCLUSIVE, id="meets the host"),
        pytest.param("y + 1", Kind.CONDITIONAL, id="meets nothing"),
        pytest.param("open('/nowhere', y)", Kind.CONDITIONAL, id="cannot run", marks=pytest.mark.slow),
    ],
)
def test_what_follows_lines_that_ran_alone_meets_no_other_device(drive: Drive, behind: str, kind: Kind) -> None:
    result = drive(FOLLOWED.format(behind=behind), "torch.zeros(3)", "torch.zeros(3, device=x.device)")
    assert result.verdict.kind is kind, result.verdict.reason


UNBOUND = """
import torch

x = torch.rand(3).cuda()
width = {width}
print(x + torch.zeros(3))
"""


@pytest.mark.parametrize(("width", "kind"), [("F.relu(x)", Kind.INCONCLUSIVE), ("open('/nowhere')", Kind.CONDITIONAL)])
def test_nobody_comes_past_a_name_that_nothing_binds(drive: Drive, width: str, kind: Kind) -> None:
    result = drive(UNBOUND.format(width=width), "torch.zeros(3)", "torch.zeros(3, device=x.device)")
    assert result.verdict.kind is kind, result.verdict.reason


UNSET = """
import torch


class Store:
    def __init__(self, options):
        self.options = options

    def place(self, where):
        {kept}

    def load(self, net, label):
        path = "%s/%s.pth" % (self.folder, label)
        print(path)
        net.load_state_dict(torch.load(path))
"""


@pytest.mark.parametrize(
    ("kept", "kind"), [("print(self.folder)", Kind.INCONCLUSIVE), ("self.folder = where", Kind.CONDITIONAL)]
)
def test_nobody_comes_past_an_attribute_that_nothing_sets(drive: Drive, kept: str, kind: Kind) -> None:
    result = drive(UNSET.format(kept=kept), "torch.load(path)", 'torch.load(path, map_location="cpu")')
    assert result.verdict.kind is kind, result.verdict.reason


ADDED = """
import torch


def jitter(cloud, sigma=0.01):
    noise = torch.randn(cloud.shape) * sigma
    new = cloud.clone()
    new += noise
    return new


def main(path):
    return jitter(read(path))
"""


def test_what_is_added_to_decides_as_well(drive: Drive) -> None:
    result = drive(ADDED, "torch.randn(cloud.shape)", "torch.randn(cloud.shape, device=cloud.device)")
    assert result.verdict.kind is Kind.INCONCLUSIVE, result.verdict.reason
    assert "if `cloud` is on the accelerator" in result.verdict.reason
