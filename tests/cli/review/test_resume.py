"""An interrupted review goes on where it was, whatever was edited elsewhere meanwhile."""

from pathlib import Path

import pytest

from ..conftest import BUGGY, FIXED, Devfix
from .test_plain import TWO, asked

pytestmark = pytest.mark.usefixtures("library")


def test_the_end_of_the_answers_loses_nothing(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(TWO)
    code, out, _ = asked(devfix, "y")
    assert code == 1
    assert "Nothing was written. 1 of 2 decisions are kept: devfix review --resume ." in out
    code, out, err = asked(devfix, "n y", "--resume")
    assert (code, "1 decision brought back." in err) == (0, True)
    assert (tree / "a.py").read_text() == TWO.replace("wrong(1)", "right(1)")


def test_every_decision_is_on_the_disk_at_once(tree: Path, home: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(TWO)
    asked(devfix, "y n")
    assert list(home.rglob("reviews/*.msgpack"))
    code, out, _ = asked(devfix, "y", "--resume")
    assert (code, "Wrote 1 fix in 1 file (1 accepted, 1 refused)." in out) == (0, True)
    assert not list(home.rglob("reviews/*.msgpack"))


def test_undoing_everything_leaves_nothing_behind(tree: Path, home: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(TWO)
    asked(devfix, "y u")
    assert not list(home.rglob("reviews/*.msgpack"))


def test_unrelated_edits_do_not_matter(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(TWO)
    asked(devfix, "y n")
    (tree / "a.py").write_text(f'"""Now with a docstring."""\n\n{TWO}\nz = wrong(3)\n')
    code, _, err = asked(devfix, "n y", "--resume")
    assert (code, "2 decisions brought back." in err) == (0, True)
    assert "x = right(1)\n" in (tree / "a.py").read_text()
    assert "y = wrong(2)\n" in (tree / "a.py").read_text()


def test_what_no_longer_matches_is_said(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(TWO)
    asked(devfix, "y i")
    (tree / "a.py").write_text(TWO.replace("y = wrong(2)", "changed = wrong(2)"))
    _, _, err = asked(devfix, "q", "--resume")
    assert "1 decision brought back." in err
    assert "no longer found, its decision (ignored) is dropped: a.py: DVF101: `loader` is on the host" in err


def test_alike_findings_are_not_guessed_apart(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text("import torch\nx = wrong(1)\nx = wrong(1)\nx = wrong(1)\n")
    asked(devfix, "y n n")
    (tree / "a.py").write_text("import torch\nx = wrong(1)\nx = wrong(1)\n")
    _, _, err = asked(devfix, "q", "--resume")
    assert "no longer found" in err


def test_reviews_of_other_paths_are_other_reviews(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    (tree / "b.py").write_text(BUGGY)
    asked(devfix, "y", "a.py")
    _, _, err = asked(devfix, "q", "b.py", "--resume")
    assert "No interrupted review of these paths (there is one of: a.py): this one begins." in err
    assert asked(devfix, "y", "./a.py", "--resume")[0] == 0
    assert (tree / "a.py").read_text() == FIXED


def test_decisions_that_cannot_be_saved_are_said(
    tree: Path, devfix: Devfix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "a.py").write_text(TWO)
    (tmp_path / "state").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    _, out, err = asked(devfix, "n q")
    assert "decisions cannot be saved" in out
    assert "decisions cannot be saved" in err


def test_a_damaged_record_is_no_record(tree: Path, home: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    asked(devfix, "y")
    (record,) = home.rglob("reviews/*.msgpack")
    whole = record.read_bytes()
    assert b"DVF101" in whole
    for data in (b"\x81\xa6format", whole.replace(b"DVF101", b"DVF\xff01")):
        (tree / "a.py").write_text(BUGGY)
        record.write_bytes(data)
        assert asked(devfix, "y y")[0] == 0
