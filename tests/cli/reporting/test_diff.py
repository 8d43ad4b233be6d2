"""Diffs that git and patch apply."""

import subprocess
from pathlib import Path

import pytest
from devfix.reporting.diff import unified

from ..conftest import Devfix

LONG = b"".join(b"line %d\n" % number for number in range(40))

PAIRS = {
    "one line": (b"a\n", b"b\n"),
    "far apart": (LONG, LONG.replace(b"line 3\n", b"three\n").replace(b"line 33\n", b"")),
    "added at the end": (LONG, LONG + b"more\n"),
    "CRLF": (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
    "mixed ends": (b"a\r\nb\nc\r\n", b"a\r\nB\nc\r\n"),
    "only CR": (b"a\rb\rc", b"a\rB\rc"),
    "no newline on both": (b"a\nb", b"a\nB"),
    "no newline before": (b"a\nb", b"a\nb\n"),
    "no newline after": (b"a\nb\n", b"a\nb"),
    "no newline, change above": (b"a\nb\nc", b"A\nb\nc"),
    "latin-1": (b"# caf\xe9\nx = 1\n", b"# caf\xe9\nx = 2\n"),
    "form feed and vertical tab": (b"a\x0cb\n\x0b\nc\n", b"a\x0cb\n\x0b\nC\n"),
    "line separator": ("a\u2028b\nc\n".encode(), "a\u2028b\nC\n".encode()),
    "lines that look like headers": (b"--- a\n+++ b\nx\n", b"--- a\n+++ b\ny\n"),
}
NAMES = [b"a.py", b"with blank.py", b'quo"te\\d.py', b"tab\there.py", "ünï.py".encode(), b"caf\xe9.py", b"a/b/c.py"]


def test_nothing_changed_is_no_diff() -> None:
    assert unified(b"a.py", LONG, LONG) == b""


@pytest.mark.parametrize(("before", "after"), PAIRS.values(), ids=PAIRS.keys())
@pytest.mark.parametrize("command", [["git", "apply", "-"], ["patch", "-p1", "--binary", "-s"]], ids=["git", "patch"])
def test_it_applies(before: bytes, after: bytes, command: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(before)
    subprocess.run(command, cwd=tmp_path, input=unified(b"a.py", before, after), check=True)
    assert (tmp_path / "a.py").read_bytes() == after


@pytest.mark.parametrize("name", NAMES)
def test_git_applies_it_to_any_name(name: bytes, tmp_path: Path) -> None:
    path = bytes(tmp_path) + b"/" + name
    Path(path.decode(errors="surrogateescape")).parent.mkdir(parents=True, exist_ok=True)
    Path(path.decode(errors="surrogateescape")).write_bytes(LONG)
    patch = unified(name, LONG, LONG.replace(b"line 7", b"seven"))
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, check=True)
    assert b"seven" in Path(path.decode(errors="surrogateescape")).read_bytes()


def test_it_applies_backwards(tmp_path: Path) -> None:
    before, after = PAIRS["far apart"]
    (tmp_path / "a.py").write_bytes(after)
    subprocess.run(["git", "apply", "-R", "-"], cwd=tmp_path, input=unified(b"a.py", before, after), check=True)
    assert (tmp_path / "a.py").read_bytes() == before


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", ["\f", "\v", "\x1c", "\x85", "\u2028", "\r"])
def test_a_terminal_shows_the_lines_that_git_counts(tree: Path, devfix: Devfix, separator: str, end: str) -> None:
    lines = ["import torch", f"# as it {separator}- was", "scaler = torch.cuda.amp.GradScaler()", ""]
    (tree / "train.py").write_bytes(end.join(lines).encode())
    shown = devfix("rewrite", "--diff", "--color", "always").out.split("\n")
    (comment,) = [line for line in shown if "as it" in line]
    assert comment == " # as it \ufffd- was"
    assert sum(line.startswith("\x1b[31m") for line in shown) == 1
