"""The bugs of `bench/repairs.py` are what it promises: one edit of a program that is right without it."""

import ast
from pathlib import Path

import pytest
from repairs import Bug, Result, bugs, rows


@pytest.mark.parametrize("bug", bugs(), ids=lambda bug: bug.name)
def test_a_bug_can_be_planted(bug: Bug, tmp_path: Path) -> None:
    bug.plant(tmp_path / "program")
    planted = (tmp_path / "program" / bug.file).read_text()
    ast.parse(planted)
    assert planted != (bug.folder / bug.file).read_text()
    assert (tmp_path / "program" / bug.entry).is_file()


def test_there_are_enough_of_them() -> None:
    names = [bug.name for bug in bugs()]
    assert len(set(names)) == len(names)
    assert sum(not bug.unseen for bug in bugs()) >= 38


def test_what_was_not_repaired_is_counted() -> None:
    seen, unseen = Bug("a/b", "t.py", "x", "y"), Bug("a/c", "t.py", "x", "y", unseen=True)
    results = [
        Result(seen, "repaired", 1.0, 1, ("Move it",), "+x", "it runs clean"),
        Result(seen, "unrepaired", 3.0, 8, (), "", "no candidate | helped"),
        Result(unseen, "failed", 2.0, 0, (), "", "no torch"),
    ]
    lines = list(rows(results))
    assert lines[3] == "| a/b | unrepaired | 8 | 3.0 | no candidate / helped |"
    assert lines[-2:] == [
        "\nbuilt with: 1 of 2 repaired, 2.0 s in the median",
        "\nunseen: 0 of 1 repaired, 2.0 s in the median",
    ]
