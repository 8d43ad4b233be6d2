"""`devfix rewrite`: what it writes, what it refuses to write, and what it says."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from devfix.changes import saving, writing

from .conftest import BUGGY, FIXED, Devfix, commit, git

pytestmark = pytest.mark.usefixtures("library")


def test_a_dry_run_writes_nothing(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    for flag in ("--diff", "--dry-run"):
        ran = devfix("rewrite", flag)
        assert ran.code == 1
        assert ran.out.startswith("--- a/a.py\n+++ b/a.py\n")
        assert ran.err == "Would fix 1 bug in 1 file (1 file checked).\n"
    assert (tree / "a.py").read_text() == BUGGY
    assert devfix("undo").code == 2


def test_nothing_to_do(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(FIXED)
    assert devfix("rewrite", "--diff").out == ""
    ran = devfix("rewrite")
    assert (ran.code, ran.out, ran.err) == (0, "Nothing to fix (1 file checked).\n", "")


def test_an_unsafe_fix_waits_for_its_option(tree: Path, devfix: Devfix) -> None:
    text = "import torch\nx = wrong(1)  # unsafe\n"
    (tree / "a.py").write_text(text)
    ran = devfix("rewrite")
    assert ran.code == 1
    assert "left  2:5 DVF101 batch-not-moved: `loader` is on the host (has a fix with --unsafe)" in ran.out
    assert (tree / "a.py").read_text() == text
    assert devfix("rewrite", "--unsafe").code == 0
    assert (tree / "a.py").read_text() == text.replace("wrong", "right")


def test_advice_is_never_applied(tree: Path, devfix: Devfix) -> None:
    text = "import torch\nx = wrong(1)  # manual\n"
    (tree / "a.py").write_text(text)
    ran = devfix("rewrite", "--unsafe")
    assert ran.code == 1
    assert "1 left: 1 by hand (see `devfix check`)" in ran.out
    assert (tree / "a.py").read_text() == text


def test_it_says_what_was_fixed_and_how_to_undo_it(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY + "y = wrong(2)  # manual\n")
    ran = devfix("rewrite")
    assert ran.out == (
        "a.py: 1 fixed, 1 left\n"
        "  fixed 3:5 DVF101 batch-not-moved: Say `right`\n"
        "  left  4:5 DVF101 batch-not-moved: `loader` is on the host\n"
        "Fixed 1 bug in 1 file (1 file checked); 1 left: 1 by hand (see `devfix check`).\n"
        "Undo with: devfix undo\n"
    )


def test_quiet(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    ran = devfix("rewrite", "--quiet")
    assert "Undo" not in ran.out + ran.err
    assert "Fixed" not in ran.out + ran.err


def test_json_tells_what_was_changed(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    dry = devfix("rewrite", "--diff", "--output-format", "json").json
    assert dry["written"] is False
    wet = devfix("rewrite", "--output-format", "json").json
    assert wet["written"] is True
    assert (wet["findings"], wet["errors"]) == ([], [])
    assert dry["changed"] == wet["changed"]
    [change] = wet["changed"]
    assert change["path"] == "a.py"
    assert [edit["new_text"] for edit in change["fixed"][0]["fix"]["edits"]] == ["x = right(loader)\n"]


# Uncommitted work


def test_uncommitted_changes_are_refused_before_anything_is_written(repository: Path, devfix: Devfix) -> None:
    for name in ("clean.py", "dirty.py", "staged.py"):
        (repository / name).write_text("import torch\n")
    commit(repository)
    (repository / "clean.py").write_text(BUGGY)
    commit(repository)
    for name in ("dirty.py", "staged.py", "new.py"):
        (repository / name).write_text(BUGGY)
    git(repository, "add", "staged.py")
    ran = devfix("rewrite")
    assert ran.code == 2
    assert ran.err.splitlines() == [
        (
            "devfix: error: nothing was written: it would change 3 files that have uncommitted changes; "
            "commit them, or pass --allow-dirty"
        ),
        "  dirty.py (modified)",
        "  staged.py (modified)",
        "  new.py (not under version control yet)",
    ]
    assert (repository / "clean.py").read_text() == BUGGY
    assert devfix("rewrite", "clean.py").code == 0
    assert devfix("rewrite", "--allow-dirty").code == 0
    assert (repository / "dirty.py").read_text() == FIXED


def test_a_file_that_git_only_means_to_add_is_no_copy_of_another(repository: Path, devfix: Devfix) -> None:
    """Git tells the origin of a copy in a field of its own, also where just the file on the disk is one."""
    git(repository, "config", "status.renames", "copies")
    (repository / "origin.py").write_text(BUGGY)
    commit(repository)
    (repository / "copied.py").write_text(BUGGY)
    (repository / "origin.py").write_text(f"{BUGGY}# more\n")
    git(repository, "add", "--intent-to-add", "copied.py")
    ran = devfix("rewrite")
    assert ran.err.splitlines()[1:] == ["  copied.py (added)", "  origin.py (modified)"]


def test_a_file_that_both_sides_added_is_in_conflict(repository: Path, devfix: Devfix) -> None:
    (repository / "first.py").touch()
    commit(repository)
    git(repository, "checkout", "-q", "-b", "other")
    (repository / "a.py").write_text(f"{BUGGY}# theirs\n")
    commit(repository)
    git(repository, "checkout", "-q", "-")
    (repository / "a.py").write_text(f"{BUGGY}# ours\n")
    commit(repository)
    with pytest.raises(subprocess.CalledProcessError):
        git(repository, "merge", "-q", "other")
    (repository / "a.py").write_text(BUGGY)
    assert devfix("rewrite").err.splitlines()[1:] == ["  a.py (in conflict)"]


def test_only_files_that_would_change_have_to_be_clean(repository: Path, devfix: Devfix) -> None:
    (repository / "a.py").write_text(BUGGY)
    commit(repository)
    (repository / "notes.py").write_text("import torch\n")
    assert devfix("rewrite").code == 0


def test_a_dry_run_does_not_ask_git(repository: Path, devfix: Devfix) -> None:
    (repository / "a.py").write_text(BUGGY)
    assert devfix("rewrite", "--diff").code == 1


def test_an_ignored_file_that_is_named_can_be_written(repository: Path, devfix: Devfix) -> None:
    (repository / ".gitignore").write_text("a.py\n")
    (repository / "a.py").write_text(BUGGY)
    commit(repository)
    assert devfix("rewrite", "a.py").code == 0
    assert (repository / "a.py").read_text() == FIXED


def test_nothing_is_written_when_git_cannot_tell(repository: Path, devfix: Devfix) -> None:
    (repository / "a.py").write_text(BUGGY)
    commit(repository)
    (repository / ".git" / "HEAD").write_text("nonsense")
    ran = devfix("rewrite")
    assert ran.code == 2
    assert "--allow-dirty goes on without asking git" in ran.err
    assert (repository / "a.py").read_text() == BUGGY
    assert devfix("rewrite", "--allow-dirty").code == 0


def test_without_git_there_is_nothing_to_ask(repository: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "a.py").write_text(BUGGY)
    monkeypatch.setenv("PATH", "")
    assert devfix("rewrite").code == 0


def test_a_repository_cannot_make_git_run_its_programs(repository: Path, devfix: Devfix) -> None:
    (repository / "a.py").write_text(BUGGY)
    commit(repository)
    git(repository, "config", "core.fsmonitor", f"touch {repository}/ran; false")
    assert devfix("rewrite").code == 0
    assert not (repository / "ran").exists()


def test_the_index_of_a_running_hook_is_not_asked(
    repository: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "a.py").write_text(BUGGY)
    commit(repository)
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent")
    assert devfix("rewrite").code == 0


# Writing that goes wrong


def test_a_file_that_changed_meanwhile_is_left(tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.py", "b.py"):
        (tree / name).write_text(BUGGY)
    honest = saving.journal.record

    def edited_meanwhile(changes: list[tuple[str, bytes, bytes]]) -> saving.journal.Run:
        (tree / "a.py").write_text("import torch  # mine\n")
        return honest(changes)

    monkeypatch.setattr(saving.journal, "record", edited_meanwhile)
    ran = devfix("rewrite")
    assert ran.code == 2
    assert ran.err.startswith("error: a.py: changed on disk while devfix was at work")
    assert (tree / "a.py").read_text() == "import torch  # mine\n"
    assert (tree / "b.py").read_text() == FIXED


def test_a_full_disk_leaves_every_file_whole(tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "a.py").write_text(BUGGY)
    honest = os.fsync

    def full(handle: int) -> None:
        if "devfix-tmp" in str(Path(f"/proc/self/fd/{handle}").readlink()):
            raise OSError(28, "No space left on device")
        honest(handle)

    monkeypatch.setattr(writing.os, "fsync", full)
    ran = devfix("rewrite")
    assert (ran.code, ran.err) == (2, "error: a.py: cannot be written: No space left on device\n")
    assert "Undo" not in ran.out
    assert [path.name for path in tree.iterdir()] == ["a.py"]
    assert (tree / "a.py").read_text() == BUGGY
    assert devfix("undo").code == 2


def test_nothing_is_written_without_a_journal(tree: Path, devfix: Devfix, home: Path) -> None:
    (tree / "a.py").write_text(BUGGY)
    (home / "xdg_state_home").write_text("in the way")
    ran = devfix("rewrite")
    assert ran.code == 2
    assert "cannot save the originals for `devfix undo`" in ran.err
    assert "nothing was written" in ran.err
    assert (tree / "a.py").read_text() == BUGGY


def test_an_interrupt_says_what_was_done(tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tree / name).write_text(BUGGY)
    honest = saving.write

    def interrupted(path: str, before: bytes, after: bytes, temporary: str) -> None:
        if path.endswith("b.py"):
            raise KeyboardInterrupt
        honest(path, before, after, temporary)

    monkeypatch.setattr(saving, "write", interrupted)
    ran = devfix("rewrite")
    assert ran.code == 130
    assert ran.err == "Interrupted after 1 file. Undo with: devfix undo\ndevfix: interrupted\n"
    assert [(tree / name).read_text() for name in ("a.py", "b.py", "c.py")] == [FIXED, BUGGY, BUGGY]
    assert devfix("undo").code == 0
    assert (tree / "a.py").read_text() == BUGGY


# Standard input


def test_standard_input_comes_out_patched(tree: Path, devfix: Devfix) -> None:
    ran = devfix("rewrite", "-", stdin=BUGGY.replace("\n", "\r\n").encode())
    assert (ran.code, ran.out) == (0, FIXED.replace("\n", "\r\n"))


def test_standard_input_without_a_bug_comes_out_as_it_is(tree: Path, devfix: Devfix) -> None:
    for text in ("x = 1", "", "# devfix: skip-file\n" + BUGGY):
        ran = devfix("rewrite", "-", stdin=text.encode())
        assert (ran.code, ran.out, ran.err) == (0, text, "")


def test_standard_input_that_cannot_be_parsed_gives_no_output(tree: Path, devfix: Devfix) -> None:
    ran = devfix("rewrite", "--stdin-filename", "a.py", "-", stdin=b"import torch\nwrong(\n")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: a.py: syntax error")


def test_standard_input_as_a_diff(tree: Path, devfix: Devfix) -> None:
    ran = devfix("rewrite", "--diff", "--stdin-filename", "pkg/a.py", stdin=BUGGY.encode())
    assert ran.code == 1
    assert ran.out.startswith("--- a/pkg/a.py\n+++ b/pkg/a.py\n")


def test_what_is_left_in_standard_input_goes_to_standard_error(tree: Path, devfix: Devfix) -> None:
    text = "import torch\nx = wrong(1)  # manual\n"
    ran = devfix("rewrite", "-", stdin=text.encode())
    assert (ran.code, ran.out) == (1, text)
    assert "left  2:5 DVF101" in ran.err


def test_standard_input_stands_alone(tree: Path, devfix: Devfix) -> None:
    ran = devfix("rewrite", "-", "a.py", stdin=b"")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert devfix("rewrite", "--replay", "-", stdin=b"").code == 2
    assert devfix("rewrite", "--stdin-filename", "a.py", "b.py").code == 2


def test_settings_hold_for_the_name_given_to_standard_input(tree: Path, devfix: Devfix) -> None:
    (tree / "pyproject.toml").write_text('[tool.devfix]\nper-file-ignores = {"tests/*" = ["DVF1"]}\n')
    assert devfix("check", "--stdin-filename", "tests/a.py", "-", stdin=BUGGY.encode()).code == 0
    assert devfix("check", "--stdin-filename", "a.py", "-", stdin=BUGGY.encode()).code == 1


def test_json_of_standard_input(tree: Path, devfix: Devfix) -> None:
    ran = devfix("check", "--output-format", "json", "-", stdin=BUGGY.encode())
    assert json.loads(ran.out)["findings"][0]["path"] == "<stdin>"
