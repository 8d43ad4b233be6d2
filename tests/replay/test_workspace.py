"""What is copied, what is not, and that the original cannot be reached from the copy."""

import mmap
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from devfix.replay.workspace import Limits, Workspace, WorkspaceError, project_root, readable


def names(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*")}


def test_the_root_is_the_nearest_project_or_the_scripts_folder(tmp_path: Path) -> None:
    deep = tmp_path / "repo" / "a" / "b"
    deep.mkdir(parents=True)
    assert project_root(deep / "train.py") == deep
    (tmp_path / "repo" / ".git").mkdir()
    assert project_root(deep / "train.py") == tmp_path / "repo"
    (tmp_path / "repo" / "a" / "setup.py").touch()
    assert project_root(deep / "train.py") == tmp_path / "repo" / "a"


def test_the_copy_has_the_tree_but_no_history_and_no_environment(tree: Path) -> None:
    for name in (".git", "env", "node_modules", "src/__pycache__", "src/pkg"):
        (tree / name).mkdir(parents=True)
        (tree / name / "file").write_text(name)
    (tree / "env" / "pyvenv.cfg").touch()
    with Workspace(tree) as workspace:
        workspace.fresh({})
        assert names(workspace.root) == {"pyproject.toml", "src", "src/pkg", "src/pkg/file"}
        assert workspace.root.name == "project"


def test_the_file_that_leads_from_a_worktree_to_its_repository_is_not_copied(tree: Path) -> None:
    (tree / ".git").write_text("gitdir: /somewhere/else\n")
    (tree / "src").mkdir(exist_ok=True)
    (tree / "src" / ".git").write_text("gitdir: ../.git/modules/src\n")
    with Workspace(tree) as workspace:
        workspace.fresh({})
        assert not [path for path in workspace.root.rglob("*") if path.name == ".git"]


def test_each_copy_is_fresh_and_in_the_same_place(tree: Path, copies: Callable[[], list[Path]]) -> None:
    (tree / "a.py").write_text("original")
    with Workspace(tree) as workspace:
        workspace.fresh({Path("a.py"): b"before"})
        root = workspace.root
        assert (root / "a.py").read_text() == "before"
        (root / "left").touch()
        workspace.fresh({Path("a.py"): b"after"})
        assert workspace.root == root
        assert (root / "a.py").read_text() == "after"
        assert not (root / "left").exists()
    assert (tree / "a.py").read_text() == "original"
    assert copies() == []


def content(root: Path) -> dict[str, object]:
    """All that is below a folder, with modes."""
    found: dict[str, object] = {}
    for path in root.rglob("*"):
        what = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[path.relative_to(root).as_posix()] = (stat.S_IMODE(path.lstat().st_mode), what)
    return found


def written_in_secret(file: Path) -> None:
    """Other bytes, as many, with the times of the old ones."""
    status = file.stat()
    file.write_bytes(b"CHANGED!")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def written_through_memory(file: Path) -> None:
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as memory:
        memory[0:3] = b"new"


def written_under_another_name(file: Path) -> None:
    os.link(file, file.parent / "other")
    (file.parent / "other").write_bytes(b"CHANGED!")
    (file.parent / "other").unlink()


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file is written to": lambda root: (root / "src" / "data").write_bytes(b"other"),
    "a file is written to in secret": lambda root: written_in_secret(root / "src" / "data"),
    "a file is written to through memory": lambda root: written_through_memory(root / "src" / "data"),
    "a file is written to under another name": lambda root: written_under_another_name(root / "src" / "data"),
    "a file is removed": lambda root: (root / "src" / "data").unlink(),
    "a file is closed": lambda root: (root / "src" / "data").chmod(0),
    "a file is moved": lambda root: (root / "src" / "data").rename(root / "data"),
    "a file becomes a folder": lambda root: [(root / "src" / "data").unlink(), (root / "src" / "data").mkdir()],
    "a file becomes a link": lambda root: [
        (root / "src" / "data").unlink(),
        (root / "src" / "data").symlink_to("/etc"),
    ],
    "a file becomes a pipe": lambda root: [(root / "src" / "data").unlink(), os.mkfifo(root / "src" / "data")],
    "a file comes": lambda root: (root / "src" / "new").touch(),
    "a file is patched": lambda root: None,
    "a folder comes": lambda root: (root / "new" / "deep").mkdir(parents=True),
    "a folder is removed": lambda root: shutil.rmtree(root / "src"),
    "a folder is closed": lambda root: (root / "src").chmod(0),
    "a folder becomes a link": lambda root: [(root / "src").rename(root / "old"), (root / "src").symlink_to("old")],
    "a link leads elsewhere": lambda root: [(root / "link").unlink(), (root / "link").symlink_to("/etc/passwd")],
    "a link is removed": lambda root: (root / "link").unlink(),
    "the root is moved": lambda root: [root.rename(root.parent / "old"), root.symlink_to("/etc")],
    "something comes beside the root": lambda root: (root.parent / "beside").touch(),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_a_run_changes_is_put_right_for_the_next(tree: Path, what: str) -> None:
    (tree / "src" / "pkg").mkdir(parents=True)
    (tree / "src" / "data").write_bytes(b"original")
    (tree / "src" / "pkg" / "script.sh").write_text("echo")
    (tree / "src" / "pkg" / "script.sh").chmod(0o755)
    (tree / "link").symlink_to("src/data")
    with Workspace(tree) as workspace:
        workspace.fresh({})
        before = content(workspace.root.parent)
        workspace.fresh({Path("src/data"): b"patched", Path("src/pkg/more.py"): b"", Path("pyproject.toml"): None})
        CHANGES[what](workspace.root)
        workspace.fresh({})
        assert content(workspace.root.parent) == before
    assert (tree / "src" / "data").read_bytes() == b"original"


def test_files_that_no_run_changed_are_not_copied_again(tree: Path) -> None:
    (tree / "data").write_bytes(b"original")
    with Workspace(tree) as workspace:
        workspace.fresh({})
        number = (workspace.root / "data").stat().st_ino
        (workspace.root / "new").touch()
        workspace.fresh({})
        assert (workspace.root / "data").stat().st_ino == number


def test_files_are_not_shared_with_the_original(tree: Path) -> None:
    (tree / "data").write_text("original")
    os.link(tree / "data", tree / "again")
    (tree / "data").chmod(0o444)
    with Workspace(tree) as workspace:
        workspace.fresh({})
        copy = workspace.root / "data"
        assert copy.stat().st_nlink == 1
        copy.write_text("changed")
    assert (tree / "data").read_text() == "original"
    assert stat.S_IMODE((tree / "data").stat().st_mode) == 0o444


def test_links_stay_where_they_stay_in_the_tree(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tree / "folder").mkdir()
    (tree / "folder" / "file").write_text("inside")
    (tree / "relative").symlink_to("folder/file")
    (tree / "absolute").symlink_to(tree / "folder")
    (tree / "leaves").symlink_to(outside)
    (tree / "climbs").symlink_to("../outside")
    (tree / "loop").symlink_to("loop")
    with Workspace(tree) as workspace:
        workspace.fresh({})
        assert (workspace.root / "relative").read_text() == "inside"
        assert (workspace.root / "absolute").resolve() == workspace.root / "folder"
        assert set(workspace.left_out) == {Path("leaves"), Path("climbs")}
        assert not (workspace.root / "leaves").is_symlink()


def test_large_files_are_left_out_and_large_trees_refused(tree: Path) -> None:
    (tree / "weights.bin").write_bytes(b"x" * 3000)
    with Workspace(tree, Limits(file=2000)) as workspace:
        workspace.fresh({})
        assert names(workspace.root) == {"pyproject.toml"}
        assert workspace.left_out == {Path("weights.bin"): "larger than 2.0 KiB"}
    with pytest.raises(WorkspaceError, match=r"is larger than 2\.0 KiB"):
        Workspace(tree, Limits(total=2048))
    with pytest.raises(WorkspaceError, match="has more than 1 files"):
        Workspace(tree, Limits(files=1))


def test_pipes_and_sockets_are_left_out(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    with Workspace(tree) as workspace:
        workspace.fresh({})
        assert workspace.left_out == {Path("pipe"): "not a regular file"}


def test_what_an_exception_leaves_is_removed(tree: Path, copies: Callable[[], list[Path]]) -> None:
    def interrupted() -> None:
        with Workspace(tree) as workspace:
            workspace.fresh({})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert copies() == []


def test_a_replay_says_which_file_was_not_copied(replay: Callable[..., object], tree: Path) -> None:
    (tree / "weights.bin").write_bytes(b"x" * 3000)
    script = "open('weights.bin')\n"
    result = replay(script, script + "x = 1\n", limits=Limits(file=2000))
    assert "weights.bin was not copied: larger than 2.0 KiB" in str(result)


def test_a_tree_that_is_too_large_is_not_run(replay: Callable[..., object], tree: Path) -> None:
    (tree / "weights.bin").write_bytes(b"x" * 3000)
    assert "is larger than 1.0 KiB" in str(replay("f()\n", "g()\n", limits=Limits(total=1024)))


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (2 << 30, "2.0 GiB"), (256 << 20, "256 MiB"), (5 << 40, "5120 GiB")],
)
def test_sizes_are_readable(size: int, text: str) -> None:
    assert readable(size) == text
