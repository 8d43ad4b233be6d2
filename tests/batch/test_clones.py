"""Checkouts: which commit, what is on the disk, what is committed, and what a killed run leaves."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from devfix.batch.errors import RepositoryError
from devfix.batch.git.clones import checkout
from devfix.batch.git.process import Git

from .git_repositories import BRANCH, bare, committed, git, plan, repository

FILES = {"train.py": b"old\n", "pkg/deep/a.py": b"a\n", "README.md": b"# x\n"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    committed(tmp_path / "source", FILES, "First")
    git(tmp_path / "source", "tag", "-a", "v1", "-m", "One")
    committed(tmp_path / "source", {"train.py": b"new\n"}, "Second")
    return tmp_path / "source"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "run"


def the_clone(run: Path) -> Path:
    [clone] = (run / "clones").glob("*.git")
    return clone


def failure(run: Path, source: Path | str, **fields: str) -> tuple[str, str]:
    """How a checkout fails; nothing of it stays."""
    with pytest.raises(RepositoryError) as caught, checkout(plan(run), repository(source, **fields), Git()):
        pytest.fail("there is a checkout")
    assert not (run / "work" / "project").exists()
    return caught.value.kind, str(caught.value)


def crafted(source: Path, entries: Mapping[str, tuple[str, str]]) -> str:
    """A commit whose tree git itself would not make: mode and content by name, or an object's id by `tree`."""
    lines = []
    for name, (mode, content) in entries.items():
        if mode == "040000":
            lines.append(f"{mode} tree {content}\t{name.rstrip()}")
        else:
            blob = git(source, "hash-object", "-w", "--stdin", data=content.encode())
            lines.append(f"{mode} blob {blob}\t{name}")
    tree = git(source, "mktree", "-z", data=("\0".join(lines) + "\0").encode())
    commit = git(source, "commit-tree", tree, "-m", "Crafted")
    git(source, "update-ref", "refs/heads/crafted", commit)
    return tree


@pytest.mark.parametrize("name", [".git", ".GIT", "..", ".", "git~1"])
def test_names_that_lead_elsewhere_are_not_written(name: str, source: Path, run: Path) -> None:
    inner = crafted(source, {"evil": ("100644", "evil")})
    crafted(source, {name: ("040000", inner)})
    failure(run, source, revision="crafted")
    assert not list(run.parent.rglob("evil"))


def test_a_link_that_is_also_a_folder_is_not_followed(source: Path, run: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    inner = crafted(source, {"evil": ("100644", "evil")})
    for first, second in (("a", "a "), ("A", "a ")):
        crafted(source, {first: ("120000", str(outside)), second: ("040000", inner)})
        try:
            with checkout(plan(run), repository(source, revision="crafted"), Git()) as there:
                assert not (there.folder / "a").is_symlink()
                assert not (there.folder / "A").is_symlink()
        except RepositoryError:
            pass
    assert not list(outside.iterdir())


def test_links(source: Path, run: Path, tmp_path: Path) -> None:
    outside = {
        "absolute": str(tmp_path),
        "up": "../secret",
        "pkg/up": "../../secret",
        "detour": "pkg/../../run/secret",
        "chain": "up",
        "through": "absolute/secret",
        "pkg/deep/far": "../../chain",
        "round": "round",
        "ping": "pong",
        "pong": "ping/x",
        "own": ".git",
        "own2": "pkg/../.GIT/config",
        "host": "/proc/self/environ",
        "CASE": "..",
        "case2": "case/x",
    }
    inside = {
        "good.py": "train.py",
        "here": ".",
        "pkg/deep/back": "../../README.md",
        "hop": "good.py",
        "folder": "pkg/deep",
        "behind": "folder/../a",
        "nowhere": "pkg/none",
    }
    committed(source, {**outside, **inside})
    with checkout(plan(run), repository(source), Git()) as there:
        for path, target in outside.items():
            place = there.folder / path
            assert not place.is_symlink(), path
            assert place.read_text() == target
        for path, target in inside.items():
            assert str((there.folder / path).readlink()) == target
        assert git(there.folder, "status", "--porcelain") == ""
        assert not there.tracked("good.py")
        assert not there.tracked("up")
        for path in ("good.py", "up", "folder/a.py", "none.py", "../source/train.py"):
            with pytest.raises(RepositoryError):
                there.write_files({path: b"evil"})
        there.commit_files({"train.py": b"fixed\n"}, "devfix")
        assert git(there.folder, "status", "--porcelain") == ""


def test_a_link_that_no_system_can_have(source: Path, run: Path) -> None:
    for target in ("x/" * 2100, "x/" * 200_000, "x\0y", ""):
        crafted(source, {"a": ("120000", target), "b": ("120000", "a/b")})
        with checkout(plan(run), repository(source, revision="crafted"), Git()) as there:
            assert (there.folder / "a").read_text() == target
            assert git(there.folder, "status", "--porcelain") == ""


def test_a_file_that_became_a_link_is_not_written_through(source: Path, run: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim.py"
    victim.write_bytes(b"mine\n")
    (tmp_path / "a.py").write_bytes(b"mine\n")
    with checkout(plan(run), repository(source), Git()) as there:
        (there.folder / "train.py").unlink()
        (there.folder / "train.py").symlink_to(victim)
        (there.folder / "pkg" / "deep" / "a.py").unlink()
        (there.folder / "pkg" / "deep").rmdir()
        (there.folder / "pkg" / "deep").symlink_to(tmp_path)
        (there.folder / "README.md").unlink()
        for path in ("train.py", "pkg/deep/a.py", "README.md"):
            with pytest.raises(RepositoryError, match="is no regular file any more"):
                there.commit_files({path: b"evil"}, "devfix")
    assert victim.read_bytes() == (tmp_path / "a.py").read_bytes() == b"mine\n"


def test_names_of_any_kind(source: Path, run: Path) -> None:
    names = ["a\nb.py", 'q"u\\o\te.py', "\x1b[31m.py", os.fsdecode(b"\xff\xfe.py"), "Case.py", "case.py", "n" * 241]
    names += [
        " lead.py",
        "*.py",
        "[a].py",
        "-rf",
        "con.py",
        "a b\u202e.py",
        "é.py",
        "e\u0301.py",
    ]
    blob = git(source, "hash-object", "-w", "--stdin", data=b"x\r\n")
    listed = b"".join(b"100755 %s\t%s\0" % (blob.encode(), os.fsencode(name)) for name in names)
    git(source, "update-index", "-z", "--index-info", data=listed)
    git(source, "commit", "-q", "-m", "Names")
    with checkout(plan(run), repository(source), Git()) as there:
        made = there.commit_files(dict.fromkeys(names, b"y\r\nz\r\n"), "devfix")
        assert all((there.folder / name).read_bytes() == b"y\r\nz\r\n" for name in names)
        assert git(there.folder, "status", "--porcelain") == ""
        assert there.diff().count(b"\n+z\r\n") == len(names)
        patch = there.patch()
    assert not (run / "work" / "project").exists()
    git(source, "reset", "-q", "--hard")
    git(source, "am", "-q", data=patch)
    assert git(source, "rev-parse", "HEAD^{tree}") == git(the_clone(run), "rev-parse", f"{made.sha}^{{tree}}")


def test_folders_deeper_than_python_can_go(source: Path, run: Path) -> None:
    path = "d/" * 1010 + "deep.py"
    blob = git(source, "hash-object", "-w", "--stdin", data=b"x\n")
    git(source, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    git(source, "commit", "-q", "-m", "Deep")
    with checkout(plan(run), repository(source), Git()) as there:
        there.commit_files({path: b"y\n"}, "devfix")
        assert there.diff().endswith(b"@@ -1 +1 @@\n-x\n+y\n")
    assert list((run / "work").iterdir()) == []


def test_what_the_disk_cannot_hold(source: Path, run: Path) -> None:
    crafted(source, {"n" * 300: ("100644", "x")})
    kind, told = failure(run, source, revision="crafted")
    assert kind == "git failed"
    assert "File name too long" in told


def test_a_tree_of_billions_of_files(source: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devfix.batch.git.process.MOST", 1 << 20)
    tree = crafted(source, {str(number): ("100644", "x") for number in range(10)})
    for _ in range(9):
        tree = crafted(source, {str(number): ("040000", tree) for number in range(10)})
    assert failure(run, source, revision="crafted") == ("too large", "git ls-tree printed more than 1 MiB")


def test_a_commit_is_made_on_a_branch_of_its_own(source: Path, run: Path) -> None:
    with checkout(plan(run), repository(source), Git()) as there:
        assert (there.folder / "train.py").read_bytes() == b"new\n"
        assert there.commit == git(source, "rev-parse", "HEAD")
        assert there.base == "main"
        made = there.commit_files({"train.py": b"fixed\n"}, "devfix: one\n\nWhy.")
        assert git(there.folder, "status", "--porcelain") == ""
        assert git(there.folder, "branch", "--show-current") == BRANCH
        assert b"-new\n+fixed\n" in there.diff()
        assert (there.folder / "train.py").read_bytes() == b"fixed\n"
        patch = there.patch()
    assert not (run / "work" / "project").exists()
    clone = the_clone(run)
    assert git(clone, "rev-parse", BRANCH) == made.sha
    assert git(clone, "rev-list", "--count", BRANCH) == "2"
    assert git(clone, "log", "-1", "--format=%an %ae %ad %cd %s", "--date=iso", BRANCH) == (
        "devfix devfix@localhost 2026-11-20 10:00:00 +0100 2026-11-20 10:00:00 +0100 devfix: one"
    )
    git(source, "am", "-q", data=patch)
    assert (source / "train.py").read_bytes() == b"fixed\n"


def test_several_commits_keep_modes_and_bytes(source: Path, run: Path) -> None:
    odd = {"run.sh": b"#!/bin/sh\r\n", "latin.py": b"# \xe9\n", "end.py": b"x", "zero.bin": b"\0\1\n"}
    committed(source, odd)
    git(source, "update-index", "--chmod=+x", "run.sh")
    git(source, "commit", "-q", "-m", "Mode")
    git(source, "reset", "-q", "--hard")
    with checkout(plan(run), repository(source), Git()) as there:
        assert all((there.folder / path).read_bytes() == data for path, data in odd.items())
        for path, data in odd.items():
            there.commit_files({path: data * 2}, f"devfix: {path}")
        assert os.access(there.folder / "run.sh", os.X_OK)
        patch, diff = there.patch(), there.diff()
    git(source, "am", "-q", data=patch)
    assert git(source, "diff", "--summary", "HEAD~4", "HEAD") == ""
    assert all((source / path).read_bytes() == data * 2 for path, data in odd.items())
    git(source, "apply", "--reverse", data=diff)
    assert all((source / path).read_bytes() == data for path, data in odd.items())


def test_no_commit_is_no_patch(source: Path, run: Path) -> None:
    with checkout(plan(run), repository(source), Git()) as there:
        assert (there.diff(), there.patch()) == (b"", b"")


@pytest.mark.parametrize(
    ("revision", "base", "text"),
    [
        (None, "main", b"new\n"),
        ("main", "main", b"new\n"),
        ("v1", None, b"old\n"),
        ("refs/tags/v1", None, b"old\n"),
        ("{first}", None, b"old\n"),
        ("{first:.9}", None, b"old\n"),
        ("{middle}", None, b"middle\n"),
    ],
)
@pytest.mark.parametrize("version", ["2", "0"])
def test_revisions(revision: str | None, base: str | None, text: bytes, version: str, source: Path, run: Path) -> None:
    git(source, "checkout", "-q", "--detach", "v1")
    middle = committed(source, {"train.py": b"middle\n"})
    git(source, "checkout", "-q", "-b", "other")
    committed(source, {"train.py": b"other\n"})
    git(source, "checkout", "-q", "main")
    known = {"first": git(source, "rev-parse", "v1^{commit}"), "middle": middle}
    wanted = repository(source, revision=None if revision is None else revision.format(**known))
    for _ in range(2):
        with checkout(plan(run), wanted, Git([("protocol.version", version)])) as there:
            assert there.base == base
            assert (there.folder / "train.py").read_bytes() == text


def test_what_cannot_be_had(source: Path, run: Path, tmp_path: Path) -> None:
    assert failure(run, source, revision="mian") == (
        "revision not found",
        f"{source} has no branch, tag or commit 'mian'; did you mean 'main'?",
    )
    assert failure(run, source, revision="0" * 40)[0] == "revision not found"
    assert failure(run, source, revision="1234567")[0] == "revision not found"
    assert failure(run, tmp_path / "none") == ("repository not found", f"{tmp_path / 'none'} does not exist")
    (tmp_path / "plain").mkdir()
    assert failure(run, tmp_path / "plain")[0] == "not a git repository"
    git(tmp_path, "init", "-q", "empty")
    assert failure(run, tmp_path / "empty") == ("empty repository", f"{tmp_path / 'empty'} has no commits")


def test_subfolders(source: Path, run: Path) -> None:
    committed(source, {"out": "..", "in": "pkg"})
    with checkout(plan(run), repository(source, subfolder="pkg/deep"), Git()) as there:
        assert there.top == there.folder / "pkg" / "deep"
        assert there.branch == f"{BRANCH}+pkg-deep-{there.branch[-8:]}"
    for subfolder in ("none", "train.py", "out", "in", "in/deep", "..", "pkg/../..", ".git"):
        kind, told = failure(run, source, subfolder=subfolder)
        assert (kind, told) == ("subfolder not found", f"{subfolder} is no folder of the revision")


@pytest.mark.parametrize("options", [["--object-format=sha256"], ["--bare"], ["--separate-git-dir=elsewhere"]])
def test_sources_of_other_kinds(options: list[str], source: Path, run: Path, tmp_path: Path) -> None:
    place = tmp_path / "o#t%20h er"
    if options == ["--bare"]:
        bare(place, source)
    else:
        git(tmp_path, "init", "-q", *options, str(place))
        committed(place, FILES)
    for _ in range(2):
        with checkout(plan(run), repository(place), Git()) as there:
            there.commit_files({"train.py": b"fixed\n"}, "devfix")


def test_a_source_without_its_history(source: Path, run: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{source}", "shallow")
    for revision in (None, git(source, "rev-parse", "--short", "HEAD")):
        with checkout(plan(run), repository(tmp_path / "shallow", revision=revision), Git()) as there:
            there.commit_files({"train.py": b"fixed\n"}, "devfix")


def test_two_entries_of_one_source_at_once(source: Path, run: Path) -> None:
    one, two = repository(source), repository(source, name="other", revision="v1", subfolder="pkg")
    with checkout(plan(run), one, Git()) as first, checkout(plan(run), two, Git()) as second:
        assert (first.branch, second.branch) == (BRANCH, f"{BRANCH}@v1+pkg")
        assert first.repository == second.repository
        made = [there.commit_files({"train.py": b"fixed\n"}, "devfix") for there in (first, second)]
        assert b"-new\n" in first.diff()
        assert b"-old\n" in second.diff()
    clone = the_clone(run)
    assert [git(clone, "rev-parse", there.branch) for there in (first, second)] == [commit.sha for commit in made]


def test_a_worker_that_outlives_its_driver_is_waited_for(
    source: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would remove the files of the one that begins anew, and move its branch."""
    monkeypatch.setattr("devfix.batch.git.filelocks.SECONDS", 0)
    with checkout(plan(run), repository(source), Git()) as first:
        with pytest.raises(RepositoryError, match="was in use"), checkout(plan(run), repository(source), Git()):
            pytest.fail("there are two")
        first.commit_files({"train.py": b"fixed\n"}, "devfix: one")
    with checkout(plan(run), repository(source), Git()) as second:
        assert (second.folder / "train.py").read_bytes() == b"new\n"


def test_a_clone_that_is_not_kept_goes_with_its_last_worktree(source: Path, run: Path) -> None:
    one, two = repository(source), repository(source, name="other", revision="v1")
    with checkout(plan(run, keep_clones=False), one, Git()):
        with checkout(plan(run, keep_clones=False), two, Git()):
            pass
        assert the_clone(run).is_dir()
    assert not list((run / "clones").glob("*.git"))
    assert list((run / "work").iterdir()) == []


def test_a_source_that_went_on_is_followed(source: Path, run: Path) -> None:
    for number in range(2):
        tip = committed(source, {"train.py": b"%d\n" % number})
        with checkout(plan(run), repository(source), Git()) as there:
            assert there.commit == tip


def test_a_damaged_clone_is_made_anew(source: Path, run: Path) -> None:
    with checkout(plan(run), repository(source), Git()):
        pass
    for place in (the_clone(run) / "objects").rglob("*"):
        if place.is_file():
            place.unlink()
    with checkout(plan(run), repository(source), Git()) as there:
        assert (there.folder / "train.py").read_bytes() == b"new\n"


def test_what_a_killed_run_may_leave(source: Path, run: Path) -> None:
    with checkout(plan(run), repository(source), Git()) as there:
        expected = there.commit_files({"train.py": b"fixed\n"}, "devfix").sha
    clone = the_clone(run)
    git(clone, "worktree", "add", "-q", "--force", str(run / "work" / "project" / "tree"), BRANCH)
    (clone / "worktrees" / "tree" / "locked").write_text("initializing")
    (clone / "worktrees" / "tree" / "index.lock").touch()
    (run / "work" / "project" / "closed" / "x").mkdir(parents=True)
    (run / "work" / "project" / "closed").chmod(0)
    for name in ("HEAD.lock", "packed-refs.lock", "shallow.lock", "config.lock", f"refs/heads/{BRANCH}.lock"):
        (clone / name).touch()
    clone.with_suffix(".new").mkdir()
    with checkout(plan(run), repository(source), Git()) as there:
        assert not (there.scratch / "closed").exists()
        assert there.commit_files({"train.py": b"fixed\n"}, "devfix").sha == expected
    assert list((run / "work").iterdir()) == []
    assert not list((clone / "worktrees").glob("*"))


def start(run: Path, source: Path, number: int, seconds: float) -> "subprocess.CompletedProcess[str]":
    """A checkout and two commits in a process that ends itself so long after it has started that command."""
    command = [sys.executable, str(Path(__file__).with_name("killed_checkout.py")), str(run), str(source), str(number)]
    return subprocess.run([*command, str(seconds)], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_killed_anywhere_and_begun_again(source: Path, run: Path, tmp_path: Path) -> None:
    committed(source, {f"data/{number}.bin": os.urandom(20_000) for number in range(40)})
    undisturbed = start(tmp_path / "quiet", source, 0, 0)
    assert undisturbed.returncode == 0, undisturbed.stderr
    commit, calls = undisturbed.stdout.split()
    for number in range(1, int(calls) + 1, 2):
        seconds = 0.0 if number % 4 == 1 else 0.004
        assert start(run, source, number, seconds).returncode in (-signal.SIGKILL, 0)
    assert start(run, source, 0, 0).stdout.split()[:1] == [commit]
    assert git(the_clone(run), "fsck", "--no-dangling") == ""
    assert list((run / "work").iterdir()) == []
