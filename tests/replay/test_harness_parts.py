"""Patched lines that run alone, where their function or their file cannot run whole: what that shows, and what not."""

from collections.abc import Callable

import pytest
from devfix.replay.results import ReplayResult
from devfix.replay.verdict_kinds import Kind

Drive = Callable[..., ReplayResult]

SCRIPT = """
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, required=True)
opt = parser.parse_args()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(24, 4).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=opt.rate)
data = open("/nowhere/at/all").read()
loader = torch.utils.data.DataLoader(data)
for inputs, labels in loader:
    inputs = inputs.to(device)
    loss = nn.functional.cross_entropy(net(inputs), labels)
    loss.backward()
    optimizer.step()
"""


def text_of(result: ReplayResult) -> str:
    assert result.harness is not None
    return result.harness.text or ""


@pytest.mark.slow
def test_a_script_whose_data_is_not_there_is_run_from_its_loop_on(drive: Drive) -> None:
    result = drive(SCRIPT, "net(inputs), labels)", "net(inputs), labels.to(device))")
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    assert result.harness is not None
    assert (result.harness.function, result.harness.lines) == ("ops.py", (15, 19))
    assert "loader=Batches([(torch.rand(2, 24), torch.randint(0, 2, (2,)))" in text_of(result)


def test_an_accelerator_that_is_asked_for_by_name_is_missed_behind_what_cannot_run(drive: Drive) -> None:
    text = """
import torch


def main():
    rows = open("/nowhere/at/all").read().split()
    table = torch.ones(len(rows), 3)
    for row in rows:
        table = table.cuda() + 1
"""
    result = drive(text, "table.cuda()", 'table.to("cuda" if torch.cuda.is_available() else "cpu")')
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    assert "without an accelerator" in result.verdict.reason


@pytest.mark.slow
def test_a_method_is_run_on_what_of_its_object_can_be_made(drive: Drive) -> None:
    text = """
import torch
from torch import nn


class Runner:
    def __init__(self, where):
        self.net = nn.Linear(4, 4)
        self.rows = open("/nowhere/at/all").read()

    def restore(self, path):
        found = torch.load(path)
        self.net.load_state_dict(found["net"])
"""
    result = drive(text, "torch.load(path)", 'torch.load(path, map_location="cpu")')
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    assert "without an accelerator RuntimeError at pack/ops.py:12 is gone" in result.verdict.reason


def test_a_function_of_a_file_whose_data_is_not_there_is_driven(drive: Drive) -> None:
    text = """
import torch

TABLE = open("/nowhere/at/all").read()


def positions(x):
    b, n, c = x.shape
    return x + torch.arange(n).view(1, n, 1)
"""
    result = drive(text, "torch.arange(n)", "torch.arange(n, device=x.device)")
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason


@pytest.mark.slow
def test_the_head_of_an_inner_function_is_run(drive: Drive) -> None:
    text = """
import torch


def distances(x, y):
    @torch.cuda.amp.autocast(enabled=False)
    def squared(one, other):
        return ((one - other) ** 2).sum(-1)

    if x.shape != (3, 5, 7, 11, 13):
        raise ValueError
    return squared(x, y)
"""
    result = drive(text, "torch.cuda.amp.autocast(", 'torch.amp.autocast("cuda", ')
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    assert "FutureWarning" in result.verdict.reason


def test_a_condition_that_no_device_decides_is_taken_to_hold(drive: Drive) -> None:
    text = """
import torch


class Counter:
    def __init__(self):
        self.count = 0

    def add(self, x):
        if self.count > 12:
            x = x + torch.ones(x.shape)
        return x
"""
    result = drive(text, "torch.ones(x.shape)", "torch.ones(x.shape, device=x.device)")
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason


@pytest.mark.slow
@pytest.mark.parametrize(("words", "goes"), [('["mel", "rand"]', True), ('["mel", "clean"]', False)])
def test_a_condition_that_no_turn_of_a_loop_meets_is_not_taken_to_hold(drive: Drive, words: str, goes: bool) -> None:
    text = f"""
import torch

rows = open("/nowhere/at/all").read().split()
for word in {words}:
    table = torch.ones(3)
    if word == "rand":
        table = table.cuda() + 1
"""
    result = drive(text, "table.cuda()", 'table.to("cuda" if torch.cuda.is_available() else "cpu")')
    assert result.verdict.kind is (Kind.CONDITIONAL if goes else Kind.INCONCLUSIVE), result.verdict.reason


def test_a_condition_that_a_device_decides_is_not_passed_over(drive: Drive) -> None:
    text = """
import torch


def main():
    rows = open("/nowhere/at/all").read().split()
    table = torch.ones(2, 3)
    if torch.cuda.is_available():
        table = table.cuda()
    print(rows)
"""
    result = drive(text, "table.cuda()", "table.to('cuda')")
    assert result.verdict.kind is not Kind.CONFIRMED, result.verdict.reason


def test_lines_whose_reason_is_elsewhere_are_not_called_harmless(drive: Drive) -> None:
    text = """
import torch


def main():
    rows = open("/nowhere/at/all").read().split()
    table = torch.ones(2, 3)
    return rows, table
"""
    result = drive(text, "torch.ones(2, 3)", 'torch.ones(2, 3, device="cpu")')
    assert result.verdict.kind is Kind.INCONCLUSIVE, result.verdict.reason


@pytest.mark.slow
def test_a_name_that_nothing_binds_is_not_given(drive: Drive) -> None:
    text = """
import torch


def main(x):
    rows = open("/nowhere/at/all").read().split()
    return rows, x + torch.ones(x.shape)
"""
    result = drive(text, "torch.ones(x.shape)", "torch.ones(x.shape, device=device)")
    assert result.verdict.kind is not Kind.CONFIRMED, result.verdict.reason


def test_what_refuses_to_go_on_is_not_passed_over(drive: Drive) -> None:
    text = """
import torch


def main(x):
    raise NotImplementedError("not now")
    return x + torch.ones(x.shape)
"""
    result = drive(text, "torch.ones(x.shape)", "torch.ones(x.shape, device=x.device)")
    assert result.verdict.kind is Kind.INCONCLUSIVE, result.verdict.reason


def test_another_device_error_in_front_is_not_passed_over(drive: Drive) -> None:
    text = """
import torch


def main():
    rows = open("/nowhere/at/all").read().split()
    x = torch.ones(2, device="cuda" if torch.cuda.is_available() else "cpu")
    y = x + torch.zeros(2)
    z = x * torch.arange(2)
    return z, y, rows
"""
    result = drive(text, "torch.arange(2)", "torch.arange(2, device=x.device)")
    assert result.verdict.kind is Kind.INCONCLUSIVE, result.verdict.reason


def test_a_checkpoint_that_is_not_there_is_stood_in_for(drive: Drive) -> None:
    text = """
import torch

opt = {"epoch": 0}
net = torch.nn.Linear(2, 2)
if opt["epoch"] != 0:
    net.load_state_dict(torch.load("saved/net_%d.pth" % opt["epoch"]))
rows = open("/nowhere/at/all").read()
"""
    result = drive(text, '% opt["epoch"])', '% opt["epoch"], map_location="cpu")')
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    assert "without an accelerator RuntimeError at pack/ops.py:7 is gone" in result.verdict.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "kind"),
    [
        ("torch.tensor([float(row) for row in rows]).view(3, 4)", Kind.INCONCLUSIVE),
        ("posed(rows, x)", Kind.INCONCLUSIVE),
        ("posed(rows, x).cuda()", Kind.CONDITIONAL),
    ],
)
def test_what_is_left_out_is_where_its_own_making_puts_it(drive: Drive, made: str, kind: Kind) -> None:
    text = f"""
import torch

from pack.lacking import posed


def poses(x):
    rows = open("/nowhere/at/all").read().split()
    pose = {made}
    found = torch.cat([pose, torch.ones(1, 4)])
    return found
"""
    result = drive(text, "torch.ones(1, 4)])\n    return", "torch.ones(1, 4).to(pose.device)])\n    return")
    assert result.verdict.kind is kind, result.verdict.reason


SAVES = """
import torch

net = torch.nn.Linear(2, 2)
rows = open("/nowhere/at/all").read()


def keep(path):
    torch.save(net.state_dict(), path)


def train():
    for row in rows:
        keep("saved/net.pth")


def test():
    net.load_state_dict(torch.load("saved/net.pth"))
    print(rows.split())


if __name__ == "__main__":
    {calls}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("calls", "kind"),
    [("train(), test()", Kind.INCONCLUSIVE), ("test(), train()", Kind.CONDITIONAL)],
)
def test_what_the_program_saved_itself_was_saved_on_this_machine(drive: Drive, calls: str, kind: Kind) -> None:
    calls = calls.replace(", ", "\n    ")
    result = drive(SAVES.format(calls=calls), '"saved/net.pth"))', '"saved/net.pth", map_location="cpu"))')
    assert result.verdict.kind is kind, result.verdict.reason


def test_what_makes_a_model_gives_one_with_what_is_asked_of_it(drive: Drive) -> None:
    text = """
import torch
from torch import nn


class Method(nn.Module):
    def __init__(self, model_func):
        super().__init__()
        self.feature = model_func()
        self.head = nn.Linear(self.feature.final_feat_dim, 4)

    def forward(self, x):
        return self.head(x) + torch.ones(4)
"""
    result = drive(text, "torch.ones(4)", "torch.ones(4, device=x.device)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert "Maker('same', final_feat_dim=16)" in text_of(result)


@pytest.mark.parametrize(
    ("told", "kind"), [("os.urandom(8).hex()", Kind.CONFIRMED), ("where.dtype", Kind.INCONCLUSIVE)]
)
def test_what_differs_from_run_to_run_says_nothing_of_the_patch(drive: Drive, told: str, kind: Kind) -> None:
    text = f"""
import os

import torch


def positions(x):
    b, n, c = x.shape
    where = torch.arange(n)
    print({told})
    return x + where.view(1, n, 1)
"""
    result = drive(text, "torch.arange(n)", "torch.arange(n, device=x.device, dtype=torch.float32)")
    assert result.verdict.kind is kind, result.verdict.reason
