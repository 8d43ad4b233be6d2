"""`--output-file`: the report goes into a file, whole or not at all."""

import json
import os
from pathlib import Path

import pytest

from .conftest import BUGGY, FIXED, Devfix

pytestmark = pytest.mark.usefixtures("library")


@pytest.mark.parametrize("command", [("check",), ("rewrite", "--diff")], ids=["check", "diff"])
@pytest.mark.parametrize("output_format", ["text", "json"])
def test_the_file_has_what_the_screen_would_have(
    tree: Path, devfix: Devfix, command: tuple[str, ...], output_format: str
) -> None:
    (tree / "a.py").write_text(BUGGY)
    shown = devfix(*command, "--output-format", output_format)
    ran = devfix(*command, "--output-format", output_format, "--output-file", "report.out")
    assert (ran.code, ran.out, ran.err) == (1, "", shown.err)
    assert (tree / "report.out").read_bytes().decode() == shown.out


def test_what_stood_there_is_replaced_and_keeps_its_mode(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(FIXED)
    report = tree / "report.json"
    report.write_text("old " * 1000)
    report.chmod(0o640)
    assert devfix("check", "--output-format", "json", "-o", "report.json").code == 0
    assert json.loads(report.read_bytes())["findings"] == []
    assert report.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tree.iterdir()) == ["a.py", "report.json"]


@pytest.mark.parametrize(("name", "reason"), [("missing/report", "No such file"), (".", "Is a directory")])
def test_a_place_that_cannot_be_written(tree: Path, devfix: Devfix, name: str, reason: str) -> None:
    (tree / "a.py").write_text(BUGGY)
    ran = devfix("check", "--output-file", name)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"devfix: error: --output-file {name}: {reason}")


@pytest.mark.skipif(os.name == "nt", reason="no such device")
def test_a_device_is_written_to(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    assert devfix("check", "--output-file", os.devnull).code == 1
    assert Path(os.devnull).is_char_device()


def test_standard_input_patched_into_a_file(tree: Path, devfix: Devfix) -> None:
    ran = devfix("rewrite", "-", "--output-file", "out.py", stdin=BUGGY.encode())
    assert (ran.code, ran.out) == (0, "")
    assert (tree / "out.py").read_text() == FIXED
