"""What `bench/versions.py` calls wrong in what devfix makes of a file, and what it leaves alone."""

from pathlib import Path
from typing import Any

import pytest
import versions
from cases import mirrors
from devfix_codemods.outcomes import Changed, Failed

from .repository import History

BUG = """import torch

def train(loader, model, device):
    model.to(device)
    for x, y in loader:
        loss = model(x.to(device)) - y
        loss.backward()
"""


@pytest.fixture
def history(tmp_path: Path) -> History:
    made = History(tmp_path)
    made.commit("first", train=BUG)
    made.commit("second", train=BUG.replace("- y", "- y.to(device)"), other="import os\n")
    return made


def kinds(text: str = BUG) -> list[str]:
    return [kind for kind, _ in versions.wrongs("a.py", text.encode())[1]]


def rewriting(monkeypatch: pytest.MonkeyPatch, outcome: Any) -> None:
    monkeypatch.setattr(versions.engine, "rewrite", lambda *_: outcome)


def test_a_file_that_is_repaired_is_not_wrong() -> None:
    assert versions.wrongs("a.py", BUG.encode()) == (True, [])


def test_a_file_without_findings_is_not_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    rewriting(monkeypatch, None)
    assert versions.wrongs("a.py", b"import torch\n") == (False, [])


def test_a_file_that_is_no_python_is_its_own_fault() -> None:
    assert versions.wrongs("a.py", b"import torch\nprint 'a'\n") == (False, [])


def test_a_name_that_nothing_bound_before_is_not_devfix_s() -> None:
    assert kinds(BUG + "\nprint(unknown)\n") == []


def test_a_defect_of_devfix_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rewriting(monkeypatch, Failed("it broke", internal=True))
    assert kinds() == ["error", "error"]


def test_what_does_not_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    rewriting(monkeypatch, Changed(b"def f(:\n", ()))
    assert kinds() == ["unparsable", "unparsable"]


def test_what_changes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rewriting(monkeypatch, Changed(BUG.encode(), ()))
    assert kinds() == ["unstable"]


def test_a_name_that_the_new_file_does_not_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    rewriting(monkeypatch, Changed(BUG.replace("- y", "- y.to(dev)").encode(), ()))
    assert kinds().count("undefined") == 2


def test_old_versions_are_read_as_well(history: History) -> None:
    (mirror,) = mirrors(history.mirrors, half="both")
    done = versions.read(mirror, seed=0, files=5, commits=2, seconds=60)
    assert (done.files, done.changed, done.wrong) == (2, 1, [])
    assert versions.summary([done]) == "2 files of 1 repositories, 1 rewritten; wrong: none"


def test_what_takes_too_long(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise versions.TooSlowError

    monkeypatch.setattr(versions, "wrongs", late)
    (mirror,) = mirrors(history.mirrors, half="both")
    done = versions.read(mirror, seed=0, files=5, commits=0, seconds=60)
    assert [(one.kind, one.path) for one in done.wrong] == [("slow", "train.py")]
