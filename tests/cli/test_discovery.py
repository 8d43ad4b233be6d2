"""Which files a run is about."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from devfix.project.discovery import LEFT_OUT, discover
from devfix.project.settings import Overrides

from .conftest import git


def make(tree: Path, *names: str) -> None:
    for name in names:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import torch\n")


def labels(*names: str, **overrides: object) -> list[str]:
    return [file.target.label for file in discover(names or (".",), Overrides(**overrides)).files]  # type: ignore[arg-type]


def test_files_in_the_order_of_their_names(tree: Path) -> None:
    make(tree, "b.py", "a/z.py", "a/b.py", "c.txt", "d.pyi", "e.pyc", ".hidden.py")
    assert labels() == [".hidden.py", "a/b.py", "a/z.py", "b.py"]


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_folders_that_are_not_the_projects(name: str, tree: Path) -> None:
    make(tree, f"{name}/a.py", f"sub/{name}/b/c.py", "kept.py", f"{name}.py")
    assert labels() == sorted([f"{name}.py", "kept.py"])
    assert labels(name) == [f"{name}/a.py"]


def test_an_environment_by_any_name(tree: Path) -> None:
    make(tree, "mine/lib/a.py", "kept.py")
    (tree / "mine" / "pyvenv.cfg").touch()
    assert labels() == ["kept.py"]
    assert labels("mine") == ["mine/lib/a.py"]


def test_a_file_that_is_reached_twice(tree: Path) -> None:
    make(tree, "a/b.py")
    (tree / "link").symlink_to("a")
    assert labels(".", "a", "a/b.py", str(tree / "a" / "b.py"), "link", "./a/../a/b.py") == ["a/b.py"]


def test_a_link_to_a_file_is_no_way_round_the_settings_of_the_file(repository: Path) -> None:
    make(repository, "legacy/a.py", "ignored.py", "build/b.py", "sub/c.py", "tool")
    (repository / ".gitignore").write_text("ignored.py\n")
    (repository / "pyproject.toml").write_text('[tool.devfix]\nextend-exclude = ["legacy/"]\n')
    (repository / "sub" / "pyproject.toml").write_text('[tool.devfix]\nignore = ["DVF101"]\n')
    (repository / "links").mkdir()
    for name in ("legacy/a.py", "ignored.py", "build/b.py", "sub/c.py", "tool"):
        (repository / "links" / f"{Path(name).stem}.py").symlink_to(f"../{name}")
    found = discover(["."], Overrides()).files
    assert [(file.target.label, file.choice.ignore) for file in found] == [
        ("links/tool.py", ()),
        ("sub/c.py", ("DVF101",)),
    ]
    assert labels("links/a.py", "links/c.py") == ["links/a.py", "links/c.py"]


def test_folders_nested_deeper_than_calls_of_python(tree: Path) -> None:
    make(tree, "a/a.py", "b.py")
    handle = os.open(tree / "a", os.O_RDONLY)
    limit = sys.getrecursionlimit()  # which an analysis in this process may have raised
    for _ in range(1000):  # not deeper, as the system takes no longer paths than 4096 bytes
        os.mkdir("a", dir_fd=handle)
        inner = os.open("a", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(os.open("deep.py", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)
    try:
        sys.setrecursionlimit(900)
        found = labels()
    finally:
        sys.setrecursionlimit(limit)
        subprocess.run(["rm", "-rf", tree / "a" / "a"], check=True)
    assert [name[-9:] for name in found] == ["a/deep.py", "a/a.py", "b.py"]


def test_paths_outside_of_the_working_directory_are_absolute(tree: Path) -> None:
    make(tree.parent, "elsewhere/a.py")
    assert labels("../elsewhere") == [str(tree.parent / "elsewhere/a.py")]


def test_any_name_that_is_given_is_taken(tree: Path) -> None:
    make(tree, "script", "a.txt", "build/a.py")
    assert labels("script", "a.txt", "build/a.py") == ["script", "a.txt", "build/a.py"]


def test_what_is_not_there(tree: Path) -> None:
    make(tree, "a.py")
    found = discover(["a.py", "nope.py"], Overrides())
    assert [file.target.label for file in found.files] == ["a.py"]
    assert [(error.target.label, error.reason) for error in found.errors] == [("nope.py", "no such file or directory")]


# Patterns


def test_exclude_replaces_what_is_left_out_and_extend_exclude_adds(tree: Path) -> None:
    make(tree, "build/a.py", "gen/b.py", "c_pb2.py", "d.py")
    (tree / "pyproject.toml").write_text('[tool.devfix]\nextend-exclude = ["gen/", "*_pb2.py"]\n')
    assert labels() == ["d.py"]
    (tree / "pyproject.toml").write_text('[tool.devfix]\nexclude = ["gen"]\n')
    assert labels() == ["build/a.py", "c_pb2.py", "d.py"]


def test_exclude_on_the_command_line(tree: Path) -> None:
    make(tree, "gen/b.py", "sub/gen/b.py", "d.py")
    assert labels(exclude=("gen",)) == ["d.py"]
    assert labels(exclude=("/gen",)) == ["d.py", "sub/gen/b.py"]


def test_patterns_are_relative_to_their_file(tree: Path) -> None:
    make(tree, "sub/gen/b.py", "gen/b.py")
    (tree / "sub" / "pyproject.toml").write_text('[tool.devfix]\nextend-exclude = ["/gen"]\n')
    assert labels() == ["gen/b.py"]


def test_force_exclude_holds_for_named_files(repository: Path) -> None:
    make(repository, "build/a.py", "ignored.py", "d.py")
    (repository / ".gitignore").write_text("ignored.py\n")
    names = ("build/a.py", "build", "ignored.py", "d.py")
    assert labels(*names) == ["build/a.py", "ignored.py", "d.py"]
    assert labels(*names, force_exclude=True) == ["d.py"]


def test_force_exclude_holds_from_any_working_directory(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tree, "build/legacy/a.py", "build/dist/b.py", "build/c.py")
    (tree / "build" / "pyproject.toml").write_text('[tool.devfix]\nextend-exclude = ["legacy/"]\n')
    (tree / "elsewhere").mkdir()
    monkeypatch.chdir(tree / "elsewhere")
    names = [str(tree / "build" / name) for name in ("legacy/a.py", "dist/b.py", "c.py", ".")]
    assert labels(*names[:3], force_exclude=True) == labels(names[3], force_exclude=True) == [str(tree / "build/c.py")]


# .gitignore


def test_gitignore(repository: Path) -> None:
    make(repository, "a.py", "out/b.py", "sub/out/c.py", "sub/c.py", "sub/deep/d.py", "keep/me.py", "keep/not.py")
    (repository / ".gitignore").write_text("# comment\n/out\nsub/deep/\nkeep/*\n!keep/me.py\n")
    assert labels() == ["a.py", "keep/me.py", "sub/c.py", "sub/out/c.py"]


def test_a_nested_gitignore_comes_after_the_outer_one(repository: Path) -> None:
    make(repository, "gen_a.py", "sub/gen_b.py", "sub/local.py", "local.py", "sub/deep/gen_c.py")
    (repository / ".gitignore").write_text("gen_*.py\n")
    (repository / "sub" / ".gitignore").write_text("!gen_b.py\nlocal.py\n")
    assert labels() == ["local.py", "sub/gen_b.py"]


def test_nothing_comes_back_out_of_an_ignored_folder(repository: Path) -> None:
    make(repository, "out/a.py")
    (repository / ".gitignore").write_text("out/\n!out/a.py\n")
    assert labels() == []


def test_the_gitignore_above_holds_for_a_folder_that_is_named(repository: Path) -> None:
    make(repository, "sub/deep/gen_a.py", "sub/deep/b.py")
    (repository / ".gitignore").write_text("gen_*.py\n/sub/deep/b.py\n")
    assert labels("sub/deep") == []


def test_an_ignored_folder_that_is_named_is_walked(repository: Path) -> None:
    make(repository, "out/a.py")
    (repository / ".gitignore").write_text("out/\n")
    assert labels("out") == ["out/a.py"]


def test_gitignore_stops_at_the_border_of_a_repository(repository: Path) -> None:
    make(repository, "inner/gen_a.py")
    git(repository / "inner", "init", "-q")
    (repository / ".gitignore").write_text("gen_*.py\n")
    assert labels() == ["inner/gen_a.py"]
    assert labels("inner") == ["inner/gen_a.py"]


def test_excludes_of_the_repository_and_of_the_user(repository: Path, home: Path) -> None:
    make(repository, "a.py", "b.py", "c.py")
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "exclude").write_text("a.py\n")
    (home / "home").mkdir()
    (home / "home" / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    (home / "home" / "mine").write_text("b.py\n")
    assert labels() == ["c.py"]


def test_gitignore_can_be_switched_off(repository: Path) -> None:
    make(repository, "a.py")
    (repository / ".gitignore").write_text("a.py\n")
    (repository / "pyproject.toml").write_text("[tool.devfix]\nrespect-gitignore = false\n")
    assert labels() == ["a.py"]


@pytest.mark.parametrize(
    "pattern",
    [
        "*.py",
        "a*",
        "?.py",
        "[ab].py",
        "/a.py",
        "sub/a.py",
        "sub/",
        "**/a.py",
        "sub/**",
        "a.py/",
        "!a.py",
        "\\!a.py",
        "*",
        "sub/*.py",
        "/*",
        "**/deep/*.py",
        "[!a].py",
        "a.py ",
        "a.py\\ ",
    ],
)
def test_every_pattern_means_what_it_means_to_git(pattern: str, repository: Path) -> None:
    make(repository, "a.py", "b.py", "ab.py", "sub/a.py", "sub/b.py", "sub/deep/a.py", "!a.py", "a.py .py")
    (repository / ".gitignore").write_text(pattern + "\n")
    expected = git(repository, "ls-files", "-z", "--others", "--exclude-standard", "--", "*.py").split("\0")
    assert labels() == sorted(expected[:-1], key=lambda name: name.split("/"))


@pytest.mark.parametrize(
    "lines",
    [
        "!",
        "a.py\\",
        "[z-a].py",
        "*\n!*/\n!a.py",
        "sub/**\n!sub/a.py",
        "*.py\n!sub/",
        "*\n!sub\n!sub/a.py",
        "**/",
        "\ufeffa.py",
    ],
)
def test_patterns_mean_what_they_mean_to_git(lines: str, repository: Path) -> None:
    make(repository, "a.py", "b.py", "sub/a.py", "sub/b.py", "sub/deep/a.py")
    (repository / ".gitignore").write_text(lines + "\n", "utf-8")
    expected = git(repository, "ls-files", "-z", "--others", "--exclude-standard", "--", "*.py").split("\0")
    assert labels() == sorted(expected[:-1], key=lambda name: name.split("/"))


def test_a_gitignore_that_is_a_link_is_not_followed(repository: Path) -> None:
    make(repository, "a.py")
    (repository / "patterns").write_text("a.py\n")
    (repository / ".gitignore").symlink_to("patterns")
    assert labels() == ["a.py"]


def test_excludes_of_the_repository_hold_in_its_worktrees(repository: Path) -> None:
    make(repository, "a.py", "b.py")
    git(repository, "add", ".")
    git(repository, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x")
    git(repository, "worktree", "add", "-q", "tree")
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "exclude").write_text("a.py\n")
    assert labels("tree") == ["tree/b.py"]
