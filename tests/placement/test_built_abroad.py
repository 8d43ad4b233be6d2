"""Modules that a function of another file makes, and moves."""

from pathlib import Path

import pytest
from devfix.project.import_graph import DiskFiles
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

COMMON = """
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
host = "cpu"
def build(gpu, on):
    net = nn.Linear(3, 3)
    {returns}
"""
PROGRAM = """
import torch
from common import build, device
def run(gpu):
    model = build(gpu, "cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.zeros(3))
"""
MOVED = [
    "return net.to(device)",
    "return net.to(device).train()",
    "return net.to(on)",
    "return net.cuda()",
    "net = net.cuda(); return net",
]
LEFT = [
    "return net",
    "return net.to(host)",
    "return net.cpu()",
    "return net.to(torch.float64)",
    "return net.cuda() if gpu else net",
    "return net.cuda().cpu()",
]


def births(folder: Path, returns: str) -> list[int]:
    (folder / "common.py").write_text(COMMON.format(returns=returns))
    source, project = (
        Source(str(folder / "train.py"), PROGRAM.encode()),
        Project(DiskFiles(str(folder))),
    )
    outcome = check(source, Options(frozenset({"DVF104"})), project)
    assert isinstance(outcome, Checked)
    return [one.span.line for one in outcome.findings]


@pytest.mark.parametrize("returns", MOVED)
def test_what_meets_a_module_that_was_moved(tmp_path: Path, returns: str) -> None:
    assert births(tmp_path, returns) == [7]


@pytest.mark.parametrize("returns", LEFT)
def test_what_meets_a_module_that_was_not(tmp_path: Path, returns: str) -> None:
    assert births(tmp_path, returns) == []
