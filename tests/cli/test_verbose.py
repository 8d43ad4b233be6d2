"""`check --verbose`: of each file whether it was looked at, and else why not."""

from pathlib import Path

import pytest

from .conftest import BUGGY, Devfix, git

pytestmark = pytest.mark.usefixtures("library")


def write(tree: Path, **files: str) -> None:
    for name, text in files.items():
        path = tree / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(text)


def told(devfix: Devfix, *arguments: str) -> list[str]:
    return devfix("check", "--verbose", *arguments).err.splitlines()


def test_without_it_nothing_is_said(tree: Path, devfix: Devfix) -> None:
    write(tree, a="import os\n", build__b=BUGGY)
    assert devfix("check").err == ""


def test_it_does_not_change_what_is_found(tree: Path, devfix: Devfix) -> None:
    write(tree, a=BUGGY, b="import os\n", build__b=BUGGY)
    plain, verbose = devfix("check"), devfix("check", "--verbose")
    assert (verbose.code, verbose.out) == (plain.code, plain.out)


def test_every_file_that_is_looked_at(tree: Path, devfix: Devfix) -> None:
    write(tree, a=BUGGY, b="import torch\n", c=f"{BUGGY.rstrip()}  # devfix: ignore\n", d="# devfix: skip-file\n")
    expected = [
        "analysed a.py: 1 finding",
        "read b.py: nothing in it that a chosen rule looks for",
        "analysed c.py: nothing found, 1 silenced by comments",
        "skipped d.py: # devfix: skip-file",
        "Looked at 3 files: 2 analysed, 1 only read. 1 skipped.",
    ]
    assert told(devfix) == expected
    assert told(devfix) == expected  # from the cache


def test_everything_that_is_left_out_with_the_reason(tree: Path, devfix: Devfix) -> None:
    write(tree, a=BUGGY, build__b=BUGGY, mine__lib__c=BUGGY, gen__d=BUGGY, e_pb2=BUGGY, secret=BUGGY, old__f=BUGGY)
    (tree / "mine" / "pyvenv.cfg").touch()
    (tree / "pyproject.toml").write_text('[tool.devfix]\nextend-exclude = ["gen/", "*_pb2.py"]\n')
    (tree / ".gitignore").write_text("secret.py\n")
    (tree / "notes.txt").write_text("import torch\n")
    (tree / "link").symlink_to("old")
    git(tree, "init", "-q")
    usual = "a folder of this name is left out, unless `exclude` in [tool.devfix] says otherwise"
    assert told(devfix, "--exclude", "old") == [
        "analysed a.py: 1 finding",
        f"skipped .git: {usual}",
        f"skipped build: {usual}",
        "skipped e_pb2.py: excluded by [tool.devfix] of pyproject.toml",
        "skipped gen: excluded by [tool.devfix] of pyproject.toml",
        "skipped link: a link to a folder; it is not followed",
        "skipped mine: a virtual environment",
        "skipped old: excluded by --exclude",
        "skipped secret.py: ignored by git",
        "Looked at 1 file: 1 analysed. 8 skipped.",
    ]


def test_what_is_skipped_is_listed_to_the_end(tree: Path, devfix: Devfix) -> None:
    write(tree, **{f"a{number:02}": "# devfix: skip-file\n" for number in range(12)})
    assert devfix("check").err.splitlines()[-1] == "skipped 2 more"
    assert told(devfix)[-2:] == [
        "skipped a11.py: # devfix: skip-file",
        "Looked at 0 files: 0 analysed. 12 skipped.",
    ]


def test_what_cannot_be_handled_is_told_as_always(tree: Path, devfix: Devfix) -> None:
    write(tree, a="x = (\n")
    assert told(devfix) == [
        "Looked at 0 files: 0 analysed. 1 could not be handled.",
        "error: a.py: syntax error: '(' was never closed (line 1)",
    ]


def test_beside_a_document(tree: Path, devfix: Devfix) -> None:
    write(tree, a=BUGGY)
    ran = devfix("check", "--verbose", "--output-format", "json")
    assert len(ran.json["findings"]) == 1
    assert ran.err.splitlines()[0] == "analysed a.py: 1 finding"


def test_it_is_not_quiet(tree: Path, devfix: Devfix) -> None:
    ran = devfix("check", "--verbose", "--quiet")
    assert (ran.code, ran.err) == (2, "devfix: error: --verbose and --quiet contradict each other\n")
