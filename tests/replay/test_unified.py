"""Patches that a user hands in."""

import subprocess
from pathlib import Path

import pytest
from devfix.replay.unified import PatchError, changes_of

PATCH = b"""--- a/pack/train.py
+++ b/pack/train.py
@@ -1,2 +1,3 @@
 import torch
+x = 1
 print(torch)
--- /dev/null
+++ b/new/helper.py
@@ -0,0 +1 @@
+value = 1
"""


def _made(name: str, mode: bytes, text: bytes) -> bytes:
    """What git writes of a new file with this mode."""
    head = f"diff --git a/{name} b/{name}\n".encode() + b"new file mode " + mode + b"\nindex 0000000.." + b"a" * 40
    body = f"\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+".encode() + text
    return head + body + (b"" if text.endswith(b"\n") else b"\n\\ No newline at end of file\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "pack").mkdir(parents=True)
    (root / "pack" / "train.py").write_text("import torch\nprint(torch)\n")
    return root


def test_a_patch_becomes_changes_and_the_tree_stays(root: Path) -> None:
    train, helper = changes_of(PATCH, root)
    assert (train.path, train.after) == (root / "pack" / "train.py", b"import torch\nx = 1\nprint(torch)\n")
    assert train.before == b"import torch\nprint(torch)\n"
    assert (helper.path, helper.before, helper.after) == (root / "new" / "helper.py", None, b"value = 1\n")
    assert (root / "pack" / "train.py").read_bytes() == train.before
    assert not (root / "new").exists()


def test_a_file_that_two_commits_change_is_one_change(root: Path) -> None:
    again = b"--- a/pack/train.py\n+++ b/pack/train.py\n@@ -1,3 +1,4 @@\n import torch\n x = 1\n+y = 2\n print(torch)\n"
    train, helper = changes_of(PATCH + again, root)
    assert (train.path, train.after) == (root / "pack" / "train.py", b"import torch\nx = 1\ny = 2\nprint(torch)\n")
    assert helper.path == root / "new" / "helper.py"


def test_it_does_not_matter_that_the_tree_is_a_repository(root: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    assert len(changes_of(PATCH, root)) == 2


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        (b"", "there is no patch in it"),
        (b"hello\n", "there is no patch in it"),
        (PATCH.replace(b" import torch", b" import jax"), "git cannot apply the patch: patch failed: pack/train.py:1"),
        (PATCH.replace(b"pack/train", b"nothing/train"), "git cannot apply the patch: nothing/train.py"),
        (PATCH.replace(b"pack/", b"../../"), "the patch leaves the tree"),
        (
            b"--- a/pack/train.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-import torch\n-print(torch)\n",
            "the patch does more than change and create files: delete",
        ),
        (
            PATCH + _made("data", b"120000", b"/nowhere"),
            "the patch does more than change and create files: data becomes a link or a submodule",
        ),
        (
            PATCH + _made("data", b"120000", __file__.encode()),
            "the patch does more than change and create files: data becomes a link or a submodule",
        ),
        (
            PATCH + _made("sub", b"160000", b"Subproject commit " + b"a" * 40 + b"\n"),
            "the patch does more than change and create files: sub becomes a link or a submodule",
        ),
    ],
)
def test_what_cannot_be_applied_says_why(root: Path, patch: bytes, reason: str) -> None:
    with pytest.raises(PatchError) as caught:
        changes_of(patch, root)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_machine_without_git_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PatchError, match="git is needed"):
        changes_of(PATCH, root)
