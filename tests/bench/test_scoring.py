"""What counts as edited, found and noisy."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cases import NEAR, Row, edited_lines
from scoring import compared, judged, read_outcomes, report, totals, write_outcomes

DEVFIX = f"{shlex.quote(sys.executable)} -m devfix"
RIGHT = """import torch
from torch import nn


def train(model, loader, criterion, optimizer):
    device = torch.device("cuda")
    model = model.to(device)
    model.train()
    for x, y in loader:
        x = x.to(device)
        y = y.to(device)
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""
NET = """from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
"""
WRONG = RIGHT.replace("        y = y.to(device)\n", "")
ROW = Row(id="one", repo="a/b", parent="", path="pkg/train.py", bug_class="move", lines_before=(11,))


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.slow
def test_rows_are_judged_by_place(tmp_path: Path) -> None:
    rows = [ROW, replace(ROW, id="far", lines_before=(2,)), replace(ROW, id="noise"), replace(ROW, id="missing")]
    ROW.write_files(tmp_path, WRONG.encode(), RIGHT.encode())
    rows[1].write_files(tmp_path, WRONG.encode(), RIGHT.encode())
    rows[2].write_files(tmp_path, RIGHT.encode(), WRONG.encode())
    one, far, noise = outcomes = judged(rows, tmp_path, DEVFIX)
    assert (one.edited, one.safe, one.found, one.told, one.noisy, one.code) == (True, True, True, True, "", "DVF101")
    assert (far.edited, far.found, far.noisy, far.extra) == (False, False, "", 0)
    assert (noise.edited, noise.noisy, noise.noise, noise.extra) == (False, "safe", ("DVF101",), 1)
    assert totals(outcomes) | {"n": 3, "edited": 1, "found": 1, "told": 1, "noisy safe": 1} == totals(outcomes)
    assert "edited 33.3 %" in report(outcomes)
    assert 0.5 < one.before[0].confidence < 1.0
    assert judged(rows, tmp_path, DEVFIX, quick=True) == outcomes
    write_outcomes(tmp_path / "out.json", DEVFIX, outcomes)
    assert read_outcomes(tmp_path / "out.json") == outcomes
    assert compared(outcomes, [replace(one, edited=False), far]) == (
        "of 2 rows 1 are edited now that were not, 0 the other way"
    )


@pytest.mark.slow
def test_what_is_proposed_on_the_path_counts_where_the_correct_file_does_not_have_it(tmp_path: Path) -> None:
    """The labels' move is missing; it is put back, but more than three lines from where the authors had it."""
    wrong = WRONG.replace("        loss =", "        print(1)\n" * 10 + "        loss =")
    right = wrong.replace("        loss =", "        y = y.to(device)\n        loss =")
    row = replace(ROW, lines_before=(15,))
    rows = [row, replace(row, id="path", lines_path=(10, 21)), replace(row, id="same", lines_path=(10, 21))]
    for one in rows:
        one.write_files(tmp_path, wrong.encode(), (wrong if one.id == "same" else right).encode())
    outcomes = judged(rows, tmp_path, DEVFIX, quick=True)
    assert [(one.edited, one.safe, one.near, one.found) for one in outcomes] == [
        (False, False, False, False),
        (True, True, False, True),
        (False, False, False, False),
    ]
    assert judged(rows, tmp_path, DEVFIX) == outcomes
    assert (totals(outcomes)["edited"], totals(outcomes)["near"]) == (1, 0)


FAR = """import torch


def start():
    table = torch.zeros(3)
    print(table.shape)
    return table


def step(rows, device):
    rows = rows.to(device)
    table = start()
    return rows.mm(table)
"""


def test_what_is_made_at_the_place_may_be_moved_anywhere(tmp_path: Path) -> None:
    rows = [replace(ROW, lines_before=(5,)), replace(ROW, id="other", lines_before=(18,))]
    for one in rows:
        one.write_files(tmp_path, FAR.encode(), FAR.replace("table = start()", "table = start().cuda()").encode())
    outcomes = judged(rows, tmp_path, DEVFIX, quick=True)
    (found,) = outcomes[0].before
    assert (found.made, min(found.edits) > 5 + NEAR) == (5, True)
    assert [(one.edited, one.near, one.found) for one in outcomes] == [(True, False, True), (False, False, False)]


@pytest.mark.slow
def test_cases_do_not_see_each_other(tmp_path: Path) -> None:
    """What the model is, another case says: here nobody knows that it has weights, and that they stay on the host."""
    user = RIGHT.replace("import torch\n", "import torch\nfrom helper.helper import Net\n", 1)
    user = user.replace("model = model.to(device)", "model = Net()")
    rows = [replace(ROW, id="user"), replace(ROW, id="helper", path="helper.py", lines_before=(1,))]
    rows[0].write_files(tmp_path, user.encode(), user.encode())
    rows[1].write_files(tmp_path, NET.encode(), NET.encode())
    alone = judged(rows[:1], tmp_path, DEVFIX, quick=True)
    assert judged(rows, tmp_path, DEVFIX, quick=True)[:1] == alone


def test_a_devfix_that_fails_is_asked_about_each_case_alone(tmp_path: Path) -> None:
    script = tmp_path / "devfix.py"
    script.write_text(
        "import pathlib, sys\n"
        "if '--help' in sys.argv: sys.exit()\n"
        "if list(pathlib.Path('.').rglob('bad.py')): sys.exit(3)\n"
        "patch = '--- a/before/one/train.py\\n@@ -11 +11 @@\\n-a\\n+b'\n"
        "print('{\"findings\": []}' if 'check' in sys.argv else patch)\n"
    )
    bad = replace(ROW, id="bad", path="bad.py")
    for row in (ROW, bad):
        row.write_files(tmp_path / "cases", b"", b"")
    outcomes = judged([ROW, bad], tmp_path / "cases", f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}")
    assert [one.edited for one in outcomes] == [True, False]


def test_the_lines_of_a_patch() -> None:
    patch = (
        "--- a/one.py\n+++ b/one.py\n@@ -3,3 +3,3 @@\n a\n-b\n+c\n d\n--- a/two.py\n+++ b/two.py\n@@ -0,0 +1 @@\n+a\n"
    )
    assert edited_lines(patch) == {"one.py": {4}, "two.py": {0}}


@pytest.mark.slow
def test_in_its_repository_a_file_sees_the_others(tmp_path: Path) -> None:
    """What the model is, the file beside it says: it has weights, which stay on the host."""
    right = RIGHT.replace("import torch\n", "import torch\nfrom net import Net\n", 1)
    right = right.replace("model = model.to(device)", "model = Net().to(device)")
    wrong = right.replace("Net().to(device)", "Net()")
    row = replace(ROW, lines_before=(8,))
    row.write_files(tmp_path / "cases", wrong.encode(), right.encode())
    tree = tmp_path / "trees" / "a+b"
    (tree / "pkg").mkdir(parents=True)
    (tree / "pkg" / "net.py").write_text(NET)
    (tree / row.path).write_text(right)
    (one,) = judged(
        [row, replace(row, id="other", repo="a/none")], tmp_path / "cases", DEVFIX, trees=tmp_path / "trees"
    )
    assert (one.edited, one.noisy) == (True, "")
    (alone,) = judged([row], tmp_path / "cases", DEVFIX, quick=True)
    assert one.before != alone.before
    assert (tree / row.path).read_text() == right
