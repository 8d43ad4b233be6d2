"""Checkouts: which commit, what is on the disk, what is committed, and what a killed run leaves."""

from pathlib import Path

import pytest
from devfix.batch.clones import checkout
from devfix.batch.git import Git

from .strangers import BRANCH, committed, git, plan, repository

FILES = {"train.py": b"old\n", "pkg/deep/a.py": b"a\n", "README.md": b"# x\n"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    committed(tmp_path / "source", FILES, "First")
    committed(tmp_path / "source", {"train.py": b"new\n"}, "Second")
    return tmp_path / "source"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "run"


def test_a_commit_is_made_on_a_branch_of_its_own(source: Path, run: Path) -> None:
    with checkout(plan(run), repository(source), Git()) as there:
        assert (there.folder / "train.py").read_bytes() == b"new\n"
        assert there.commit == git(source, "rev-parse", "HEAD")
        assert there.base == "main"
        made = there.commit_files({"train.py": b"fixed\n"}, "devfix: one\n\nWhy.")
        assert git(there.folder, "status", "--porcelain") == ""
        assert b"-new\n+fixed\n" in there.diff()
        assert (there.folder / "train.py").read_bytes() == b"fixed\n"
        (run / "a.patch").write_bytes(there.patch())
    assert not (run / "work" / "project").exists()
    [clone] = (run / "clones").glob("*.git")
    assert git(clone, "rev-parse", BRANCH) == made.sha
    assert git(clone, "log", "--format=%an %ae %ad %s", "--date=iso", BRANCH).splitlines()[0] == (
        "devfix devfix@localhost 2026-11-20 10:00:00 +0100 devfix: one"
    )
    git(source, "am", "-q", str(run / "a.patch"))
    assert (source / "train.py").read_bytes() == b"fixed\n"
