"""`rewrite --add-guards` on the command line."""

from pathlib import Path

import pytest

from .conftest import Devfix

BEFORE = """import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(2, 2).to(device)
criterion = nn.CrossEntropyLoss()
for x, y in torch.utils.data.DataLoader(data):
    x = x.to(device)
    loss = criterion(model(x), y)
"""
GUARD = 'assert next(model.parameters()).device.type == device.type, "model is not on device"\n'
MOVED = BEFORE.replace("    loss", "    y = y.to(device)\n    loss")
GUARDED = MOVED.replace("criterion = ", f"{GUARD}criterion = ")


@pytest.mark.parametrize("command", [("check",), ("rewrite",), ("rewrite", "--unsafe"), ("check", "--select", "ALL")])
def test_nobody_gets_a_guard_unasked(command: tuple[str, ...], tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(MOVED)
    assert devfix(*command).code == 0
    assert (tree / "a.py").read_text() == MOVED


def test_guards_are_told_from_repairs(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BEFORE)
    assert devfix("check").code == 1
    assert devfix("rewrite", "--diff", "--add-guards").err.endswith(
        "Would fix 1 bug and add 1 guard in 1 file (1 file checked).\n"
    )
    ran = devfix("rewrite", "--add-guards")
    assert ran.out.splitlines()[:3] == [
        "a.py: 1 fixed, 1 added",
        "  added 5:1 DVF002 device-guard: Assert that `model` is on `device`",
        "  fixed 9:12 DVF101 batch-not-moved: Move `y` to `device`, as `x` is (confidence 0.93)",
    ]
    assert "Fixed 1 bug and added 1 guard in 1 file (1 file checked)." in ran.out
    assert (tree / "a.py").read_text() == GUARDED
    assert devfix("rewrite", "--add-guards").out == "Nothing to fix (1 file checked).\n"
    assert devfix("undo").code == 0
    assert (tree / "a.py").read_text() == BEFORE


def test_a_file_without_a_bug_gets_its_guard(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(MOVED)
    assert devfix("check").code == 0
    ran = devfix("rewrite", "--add-guards")
    assert ran.out.splitlines()[0] == "a.py: 1 added"
    assert (tree / "a.py").read_text() == GUARDED


def test_json_tells_them_by_their_code(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(MOVED)
    (changed,) = devfix("rewrite", "--add-guards", "--diff", "--output-format", "json").json["changed"]
    (fixed,) = changed["fixed"]
    assert (fixed["code"], fixed["fix"]["edits"][0]["new_text"]) == ("DVF002", GUARD)


def test_help_names_the_option(devfix: Devfix) -> None:
    assert "--add-guards" in devfix("rewrite", "--help").out
    assert "--add-guards" not in devfix("check", "--help").out
