"""What is mined as a device fix, and what is not."""

import random
from pathlib import Path

import pytest
from cases import Row, mirrors
from fixes import HARDCODED
from history import fixes, within_share

from .repository import History

BEFORE = """import torch


class Trainer:
    def __init__(self, model, device):
        self.model = model
        self.device = device
        self.scale = torch.ones(3)

    def run(self, loader, path):
        state = torch.load(path)
        for x, y in loader:
            x = x.to(self.device)
            noise = torch.randn(3)
            loss = self.model(x, y) + noise
            loss.backward()
        self.model.cuda()
        return loss.detach().numpy(), state
"""

MINED = {
    "moved": (
        "            x = x.to(self.device)\n",
        "            x, y = x.to(self.device), y.to(self.device)\n",
        "batch_not_moved",
    ),
    "inserted": (
        "            noise =",
        "            y = y.to(self.device, non_blocking=True)\n            noise =",
        "batch_not_moved",
    ),
    "made there": ("torch.randn(3)", "torch.randn(3, device=x.device)", "creation_without_device"),
    "model": ("self.model = model\n", "self.model = model.to(device)\n", "model_not_moved"),
    "loaded": ("torch.load(path)", "torch.load(path, map_location=self.device)", "torch_load_map_location"),
    "host": ("detach().numpy()", "detach().cpu().numpy()", "numpy_on_cuda"),
    "buffer": ("self.scale = torch.ones(3)", 'self.register_buffer("scale", torch.ones(3))', "plain_attr_not_buffer"),
    "hard-coded": ("self.model.cuda()", "self.model.to(self.device)", HARDCODED),
}
NOT_MINED = {
    "a type": ("x.to(self.device)\n", "x.to(torch.float32)\n"),
    "a type as well": ("torch.randn(3)", "torch.randn(3, device=x.device, dtype=x.dtype)"),
    "speed": (
        "x = x.to(self.device)\n            noise = torch.randn(3)",
        "noise = torch.randn(3, device=self.device)",
    ),
    "something new": ("torch.randn(3)", "torch.randn(4, device=x.device)"),
    "a new name": ("torch.randn(3)", "sample(3, device=x.device)"),
    "taken away": ("            x = x.to(self.device)\n", ""),
    "a comment": ("x = x.to(self.device)", "x = x.to(self.device)  # y.to(device)"),
    "a parameter": ("loader, path)", "loader, path, device=None)"),
}


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path)


def mined(history: History) -> list[Row]:
    (mirror,) = mirrors(history.mirrors, half="both")
    return [row for row, _, _ in fixes(mirror, random.Random(0), 6, set())]


@pytest.mark.parametrize("name", MINED)
def test_a_fix_is_mined(history: History, name: str) -> None:
    old, new, kind = MINED[name]
    history.commit("first", pkg__run=BEFORE)
    history.commit("fix it", pkg__run=BEFORE.replace(old, new))
    (row,) = mined(history)
    assert (row.bug_class, row.path, row.summary) == (kind, "pkg/run.py", "fix it")
    line = BEFORE[: BEFORE.index(old)].count("\n") + 1
    assert any(abs(line - one) <= 1 for one in row.lines_before)


@pytest.mark.parametrize("name", NOT_MINED)
def test_what_is_no_fix_is_not_mined(history: History, name: str) -> None:
    old, new = NOT_MINED[name]
    assert old in BEFORE
    history.commit("first", run=BEFORE)
    history.commit("second", run=BEFORE.replace(old, new))
    assert not mined(history)


FIXED = BEFORE.replace("torch.randn(3)", "torch.randn(3, device=x.device)")


@pytest.mark.parametrize(
    ("subject", "files"),
    [
        ("in a test", {"tests__test_run": FIXED}),
        ("with a new file", {"run": FIXED, "more": BEFORE}),
        ("Revert something", {"run": FIXED}),
        ("in many files", {"run": FIXED, **{f"other{number}": "import os\n" for number in range(25)}}),
    ],
)
def test_a_commit_that_is_no_fix_alone(history: History, subject: str, files: dict[str, str]) -> None:
    others = {f"other{number}": "import sys\n" for number in range(25)} if "other1" in files else {}
    history.commit("first", run=BEFORE, tests__test_run=BEFORE, **others)
    history.commit(subject, **files)
    assert not mined(history)


def test_of_a_commit_with_other_work_the_fix_alone(history: History) -> None:
    history.commit("first", run=BEFORE)
    history.commit("second", run=FIXED.replace("loss.backward()", "loss.mean().backward()"))
    (row,) = mined(history)
    assert (row.lines_before, row.lines_after) == ((14,), (14,))


def test_what_is_placed_may_be_placed_elsewhere_on_its_path(history: History) -> None:
    old, new, _ = MINED["inserted"]
    history.commit("first", run=BEFORE)
    history.commit("second", run=BEFORE.replace(old, new))
    (row,) = mined(history)
    path = [BEFORE.splitlines()[line - 1].strip() for line in row.lines_path]
    assert {"for x, y in loader:", "loss = self.model(x, y) + noise"} <= {*path}
    assert not {"loss.backward()", "self.scale = torch.ones(3)"} & {*path}


def test_the_same_fix_twice_is_one(history: History) -> None:
    history.commit("first", run=BEFORE, copy=BEFORE)
    history.commit("second", run=FIXED)
    history.commit("third", copy=FIXED)
    assert len(mined(history)) == 1


def test_few_are_about_hard_coded_devices() -> None:
    rows = [Row(f"{number}", "a/b", "", "x.py", HARDCODED if number % 2 else "host", (1,)) for number in range(40)]
    kept = within_share(rows)
    assert sum(row.bug_class == "host" for row in kept) == 20
    assert sum(row.bug_class == HARDCODED for row in kept) == 3
