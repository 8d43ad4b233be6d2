"""Changes from a unified diff, applied by git to copies of the files that it names."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devfix.replay.changes import Change


class PatchError(Exception):
    """The patch cannot be judged; the message says why."""


def changes_of(patch: bytes, root: Path) -> list[Change]:
    """The changes to Python and other files that `patch` makes to the tree `root`, to which its paths are relative.

    Raises:
        PatchError: git is missing, the text is no patch, it does not apply, it deletes or renames files, or it makes
            links or submodules.
    """
    if shutil.which("git") is None:
        raise PatchError("git is needed to apply a patch, and is not installed")
    with tempfile.TemporaryDirectory(prefix="devfix-patch-") as name:
        folder = Path(name)
        paths = _paths(patch, folder)
        for path in paths:
            _copy(root, folder, path)
        _git(["apply", "--whitespace=nowarn", "-"], folder, patch)
        return [_change(root, folder, path) for path in paths]


def _paths(patch: bytes, folder: Path) -> list[Path]:
    """The files that the patch changes or creates, each once: a patch of several commits may change one again."""
    listed = _git(["apply", "--numstat", "-z", "-"], folder, patch).split(b"\0")
    names = [os.fsdecode(entry.split(b"\t", 2)[2]) for entry in listed if entry.count(b"\t") >= 2]
    summary = _git(["apply", "--summary", "-"], folder, patch).decode("utf-8", "replace")
    for line in summary.splitlines():
        if line.strip().startswith(("delete ", "rename ", "copy ")):
            raise PatchError(f"the patch does more than change and create files: {line.strip()}")
    if not names:
        raise PatchError("the patch changes nothing")
    return [Path(name) for name in dict.fromkeys(names)]


def _copy(root: Path, folder: Path, path: Path) -> None:
    source = root / path
    if not source.resolve().is_relative_to(root.resolve()):
        raise PatchError(f"the patch leaves the tree {root}: {path}")
    if source.is_file():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / path)


def _change(root: Path, folder: Path, path: Path) -> Change:
    source, made = root / path, folder / path
    if made.is_symlink() or not made.is_file():  # read, a link would give what it leads to
        raise PatchError(f"the patch does more than change and create files: {path} becomes a link or a submodule")
    return Change(source, source.read_bytes() if source.is_file() else None, made.read_bytes())


def _git(arguments: Sequence[str], folder: Path, patch: bytes) -> bytes:
    # Without a repository around it, so that paths count from the folder.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent), "GIT_DIR": str(folder / "none")}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, input=patch, capture_output=True, env=environment, check=False
    )
    if b"No valid patches in input" in done.stderr:
        raise PatchError("there is no patch in it")
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise PatchError(
            f"git cannot apply the patch: {reason[0].removeprefix('error: ') if reason else 'no reason told'}"
        )
    return done.stdout
