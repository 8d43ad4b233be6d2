"""The journal, and `devfix undo`."""

import os
import time
from pathlib import Path

import pytest
from devfix.changes import journal

from .conftest import BUGGY, FIXED, Devfix

pytestmark = pytest.mark.usefixtures("library")


def rewrite(folder: Path, devfix: Devfix, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(BUGGY)
    assert devfix("rewrite", *(str(folder / name) for name in names)).code == 0
    time.sleep(0.002)


def test_nothing_to_undo(tree: Path, devfix: Devfix) -> None:
    ran = devfix("undo")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert devfix("undo", "--list").out == "Nothing to undo here.\n"
    assert devfix("undo", "nonsense").err.startswith("devfix: error: no run 'nonsense'")


def test_all_files_of_the_last_run_come_back(tree: Path, devfix: Devfix) -> None:
    rewrite(tree, devfix, "first.py")
    (tree / "b.py").touch(0o750)
    rewrite(tree, devfix, "a.py", "b.py")
    ran = devfix("undo")
    assert ran.code == 0
    assert ran.out.startswith("Restored 2 files of the run ")
    assert (tree / "a.py").read_text() == (tree / "b.py").read_text() == BUGGY
    assert (tree / "b.py").stat().st_mode & 0o777 == 0o750
    assert (tree / "first.py").read_text() == FIXED
    assert devfix("undo").code == 0
    assert (tree / "first.py").read_text() == BUGGY
    assert devfix("undo").code == 2


def test_a_file_that_was_edited_since_is_left(tree: Path, devfix: Devfix) -> None:
    rewrite(tree, devfix, "a.py", "b.py")
    (tree / "a.py").write_text(FIXED + "mine = 1\n")
    ran = devfix("undo")
    assert (ran.code, ran.err) == (2, "error: a.py: not restored: edited since\n")
    assert (tree / "a.py").read_text() == FIXED + "mine = 1\n"
    assert (tree / "b.py").read_text() == BUGGY
    (tree / "a.py").write_text(FIXED)
    assert devfix("undo").code == 0
    assert (tree / "a.py").read_text() == BUGGY


def test_a_file_that_was_deleted_since_stays_deleted(tree: Path, devfix: Devfix) -> None:
    rewrite(tree, devfix, "a.py", "b.py")
    (tree / "a.py").unlink()
    ran = devfix("undo")
    assert (ran.code, ran.err) == (2, "error: a.py: not restored: cannot be read: No such file or directory\n")
    assert not (tree / "a.py").exists()
    assert (tree / "b.py").read_text() == BUGGY


def test_a_read_only_file_is_named(tree: Path, devfix: Devfix) -> None:
    rewrite(tree, devfix, "a.py")
    (tree / "a.py").chmod(0o444)
    ran = devfix("undo")
    assert (ran.code, ran.err) == (2, "error: a.py: not restored: is read-only; it was left as it was\n")


def test_only_runs_below_this_folder(tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    rewrite(tree, devfix, "one/a.py")
    rewrite(tree, devfix, "two/b.py")
    monkeypatch.chdir(tree / "one")
    assert devfix("undo", "--list").out.endswith("1 file: a.py\n")
    assert devfix("undo").code == 0
    assert (tree / "one/a.py").read_text() == BUGGY
    assert (tree / "two/b.py").read_text() == FIXED
    assert devfix("undo").code == 2


def test_a_run_by_its_name(tree: Path, devfix: Devfix) -> None:
    rewrite(tree, devfix, "a.py")
    rewrite(tree, devfix, "b.py")
    names = [line.split()[0] for line in devfix("undo", "--list").out.splitlines()]
    assert len(names) == 2
    assert devfix("undo", names[1]).code == 0
    assert ((tree / "a.py").read_text(), (tree / "b.py").read_text()) == (BUGGY, FIXED)


def test_a_half_written_run_can_be_undone(tree: Path, devfix: Devfix) -> None:
    for name in ("a.py", "b.py"):
        (tree / name).write_text(BUGGY)
    run = journal.record([(str(tree / name), BUGGY.encode(), FIXED.encode()) for name in ("a.py", "b.py")])
    (tree / "a.py").write_text(FIXED)
    (tree / f".b.py{run.temporary}").write_text("half of the n")
    assert devfix("undo").code == 0
    assert [path.name for path in sorted(tree.iterdir())] == ["a.py", "b.py"]
    assert (tree / "a.py").read_text() == (tree / "b.py").read_text() == BUGGY


def test_only_the_last_runs_are_kept(tree: Path, home: Path) -> None:
    for number in range(journal.RUNS_KEPT + 5):
        journal.record([(str(tree / f"{number}.py"), b"", b"")])
    kept = [Path(run.files[0].path).name for run in journal.runs()]
    assert kept == [f"{number}.py" for number in range(journal.RUNS_KEPT + 4, 4, -1)]
    assert len(list((home / "xdg_state_home" / "devfix" / "runs").iterdir())) == journal.RUNS_KEPT


def test_a_damaged_run_is_no_run(tree: Path, devfix: Devfix, home: Path) -> None:
    rewrite(tree, devfix, "a.py")
    rewrite(tree, devfix, "b.py")
    newest = home / "xdg_state_home" / "devfix" / "runs" / journal.runs()[0].name
    (newest / "run.msgpack").write_bytes(b"nonsense")
    assert devfix("undo").code == 0
    assert (tree / "a.py").read_text() == BUGGY


def test_a_run_whose_text_is_damaged_is_no_run(tree: Path, devfix: Devfix, home: Path) -> None:
    rewrite(tree, devfix, "a.py")
    rewrite(tree, devfix, "b.py")
    run = journal.runs()[0]
    header = home / "xdg_state_home" / "devfix" / "runs" / run.name / "run.msgpack"
    header.write_bytes(header.read_bytes().replace(run.files[0].before.encode(), b"\xff" * len(run.files[0].before)))
    assert devfix("undo").code == 0
    assert (tree / "a.py").read_text() == BUGGY


def test_a_damaged_original_is_not_put_back(tree: Path, devfix: Devfix) -> None:
    rewrite(tree, devfix, "a.py")
    originals = journal.runs()[0].folder / "originals"
    originals.write_text("nonsense")
    assert devfix("undo").err == "error: a.py: not restored: its saved original is damaged\n"
    originals.unlink()
    assert "its saved original cannot be read" in devfix("undo").err
    assert (tree / "a.py").read_text() == FIXED


def test_the_journal_is_for_its_owner_only(tree: Path, devfix: Devfix, home: Path) -> None:
    rewrite(tree, devfix, "a.py")
    for folder in (home / "xdg_state_home" / "devfix" / "runs", journal.runs()[0].folder):
        assert folder.stat().st_mode & 0o077 == 0


def test_a_folder_that_is_a_file_now_keeps_nothing_else_from_coming_back(tree: Path, devfix: Devfix) -> None:
    rewrite(tree, devfix, "a/a.py", "b.py")
    (tree / "a" / "a.py").unlink()
    (tree / "a").rmdir()
    (tree / "a").write_text("a file now")
    ran = devfix("undo")
    assert ran.code == 2
    assert "a.py" in ran.err
    assert (tree / "b.py").read_text() == BUGGY


def test_a_clock_that_was_set_back_forgets_no_new_run(
    tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(journal.RUNS_KEPT):
        rewrite(tree, devfix, f"{number}.py")
    monkeypatch.setattr(journal.time, "time", lambda: 1.0)
    rewrite(tree, devfix, "last.py")
    assert any("last.py" in str(one.path) for run in journal.runs() for one in run.files)


def test_originals_that_cannot_be_saved_leave_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        journal.record([(str(tree / "a.py"), b"old", b"new")])
    assert not list(Path(os.environ["XDG_STATE_HOME"]).rglob(".*.building"))
