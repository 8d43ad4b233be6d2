"""Files as they were decided, by the library itself: fixes first, comments after them, and what cannot be is said."""

import json
from pathlib import Path

import pytest
from devfix.review.decisions import Decision
from devfix.review.session import Plan, Session

from .conftest import Shown, driven, session_of
from .test_screen import decided, sees

LOOP = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 2).to(device)
criterion = nn.CrossEntropyLoss()
for x, y, z in loader:
    x = x.to(device)
    loss = criterion(model(x), y)
    other = criterion(model(x), z)
"""
AMP = """\
from torch.cuda import amp

scaler = amp.GradScaler()
with amp.autocast():
    pass
with amp.autocast():
    pass
"""


def planned(session: Session, *decisions: Decision | None) -> Plan:
    for item, decision in zip(session.review.items, decisions, strict=True):
        session.review.decide([item], decision)
    return session.plan(lambda _done, _total: None)


def notebook(*cells: str) -> str:
    listed = [{"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": []} for cell in cells]
    return json.dumps({"cells": listed, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def test_only_what_was_accepted(tree: Path) -> None:
    (tree / "a.py").write_text(LOOP)
    plan = planned(session_of(), None, Decision.ACCEPTED)
    (one,) = plan.changed
    assert one.after.decode() == LOOP.replace("x.to(device)\n", "x.to(device)\n    z = z.to(device)\n")
    assert (plan.fixes, plan.comments, plan.missed) == (1, 0, [])


def test_a_comment_stands_where_the_line_has_gone(tree: Path) -> None:
    (tree / "a.py").write_text(LOOP)
    plan = planned(session_of(), Decision.ACCEPTED, Decision.IGNORED)
    (one,) = plan.changed
    text = one.after.decode()
    assert "    y = y.to(device)\n" in text
    assert text.endswith("    other = criterion(model(x), z)  # devfix: ignore[DVF101]\n")
    assert (plan.fixes, plan.comments, plan.missed) == (1, 1, [])


def test_one_change_for_several_findings_is_decided_once(tree: Path) -> None:
    (tree / "a.py").write_text(AMP)
    session = session_of()
    assert len(session.review.items) > 1

    def alike(shown: Shown) -> None:
        marks = shown.decisions
        assert marks == "y" * len(marks)

    driven("y", alike, "u", decided("." * len(session.review.items)), session=session)


def test_a_comment_where_a_fix_repairs_it_anyway_is_said(tree: Path) -> None:
    (tree / "a.py").write_text(AMP)
    session = session_of()
    rest = [Decision.IGNORED] * (len(session.review.items) - 1)
    plan = planned(session, Decision.ACCEPTED, *rest)
    assert {missed.reason for _, missed in plan.missed} == {"another fix repairs it already"}
    assert b"ignore" not in plan.changed[0].after


def test_what_is_repaired_besides_is_said(tree: Path) -> None:
    (tree / "a.py").write_text(AMP)
    session = session_of()
    plan = planned(session, Decision.ACCEPTED, *[Decision.REFUSED] * (len(session.review.items) - 1))
    assert all(note.startswith("the fixes also repair DVF302") for _, note in plan.notes)
    assert plan.notes


@pytest.mark.parametrize("decision", [None, Decision.IGNORED])
def test_what_another_fix_only_words_otherwise_is_not_repaired(tree: Path, decision: Decision | None) -> None:
    text = LOOP.replace("    x = x.to(device)\n", "").replace("model(x), y", "model(x.cuda()), y")
    text = text.replace("x, y, z", "x, y").replace("    other = criterion(model(x), z)\n", "")
    (tree / "a.py").write_text(text)
    plan = planned(session_of(), decision, Decision.ACCEPTED)
    assert (plan.missed, plan.notes) == ([], [])
    silenced = "  # devfix: ignore[DVF101]" if decision is not None else ""
    (one,) = plan.changed
    assert one.after.decode() == text.replace("x.cuda()), y)", f"x.to(device)), y){silenced}")


def test_a_line_that_can_hold_no_comment_is_said(tree: Path) -> None:
    text = LOOP.replace("criterion(model(x), y)", "\\\n        criterion(model(x), y) \\\n        + 0")
    (tree / "a.py").write_text(text)
    plan = planned(session_of(), Decision.IGNORED, Decision.IGNORED)
    assert [missed.reason for _, missed in plan.missed] == ["no line of it can hold a comment"]
    assert plan.changed[0].after.decode() == text.replace("(x), z)", "(x), z)  # devfix: ignore[DVF101]")


def test_a_file_that_changed_since_it_was_read_is_judged_as_it_was(tree: Path) -> None:
    (tree / "a.py").write_text(LOOP)
    session = session_of()
    (tree / "a.py").write_text("# mine\n" + LOOP)
    plan = planned(session, Decision.ACCEPTED, None)
    written = session.write(plan)
    assert written.run is None
    assert "changed on disk" in written.errors[0].reason
    assert (tree / "a.py").read_text() == "# mine\n" + LOOP


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_bytes_elsewhere_stay(tree: Path, ending: str) -> None:
    data = b"\xef\xbb\xbf" + LOOP.replace("\n", ending).encode() + "# ünï".encode()
    (tree / "a.py").write_bytes(data)
    plan = planned(session_of(), Decision.IGNORED, None)
    comment = b"y)  # devfix: ignore[DVF101]"
    assert plan.changed[0].after == data.replace(b"(x), y)", b"(x), " + comment)


def test_a_notebook(tree: Path) -> None:
    head, body = LOOP.split("for ")
    (tree / "a.ipynb").write_text(notebook("print(1)", head, f"for {body}"))
    session = session_of()
    driven(
        sees("cell 3:3 DVF101", "a.ipynb:cell 3:3", "cell 3"), "y", "i", "w", sees("a/a.ipynb:cell 3"), session=session
    )
    plan = session.plan(lambda _done, _total: None)
    assert session.write(plan).run is not None
    cells = ["".join(cell["source"]) for cell in json.loads((tree / "a.ipynb").read_text())["cells"]]
    assert cells[:2] == ["print(1)", head]
    assert "    y = y.to(device)\n" in cells[2]
    assert cells[2].rstrip().endswith("# devfix: ignore[DVF101]")


@pytest.mark.slow
def test_many_files_are_put_together_by_several_processes(tree: Path) -> None:
    for number in range(10):
        (tree / f"m{number}.py").write_text(LOOP)
    session = session_of()
    driven("A", "w", sees("write 20 fixes in 10 files"), "w", session=session)


def test_what_a_baseline_has_is_left_out(tree: Path) -> None:
    from devfix.__main__ import main

    (tree / "a.py").write_text(LOOP)
    (tree / "pyproject.toml").write_text('[tool.devfix]\nbaseline = "devfix-baseline.json"\n')
    assert main(["baseline", "."]) == 0
    assert session_of().review.items == []
    (tree / "a.py").write_text(LOOP.replace("y, z", "y, z, w") + "    third = criterion(model(x), w)\n")
    assert [item.place for item in session_of().review.items] == ["11"]
