"""The driver: order, parallel work, and what the gate keeps from being parsed."""

from pathlib import Path

import pytest
from devfix.analysis.cache import no_cache
from devfix.analysis.jobs import Task
from devfix.analysis.runner import Request, run
from devfix.project.discovery import discover
from devfix.project.settings import Overrides
from devfix.results import Checked, Failed

from .conftest import BUGGY, Devfix

pytestmark = pytest.mark.usefixtures("library")


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow), 4])
def test_results_come_in_the_order_of_the_files(jobs: int, tree: Path) -> None:
    for number in range(30):
        (tree / f"{number:02}.py").write_text(BUGGY * (30 - number) if number % 3 else "x = 1\n")
    found = discover(["."], Overrides())
    seen: list[tuple[int, int]] = []
    results = run(found.files, Request(Task.CHECK, jobs), no_cache(), lambda done, total: seen.append((done, total)))
    assert [result.target.label for result in results] == [f"{number:02}.py" for number in range(30)]
    problems = [len(result.problems) for result in results if isinstance(result, Checked)]
    assert problems == [30 - number if number % 3 else 0 for number in range(30)]
    assert seen == [(number + 1, 30) for number in range(30)]


def test_what_cannot_concern_a_rule_is_not_analysed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "a.py").write_text("import torch  # not a word of it\n")
    (tree / "b.py").write_text("wrong(1)\n")
    monkeypatch.setattr("devfix.analysis.one_file.analyse", lambda job: pytest.fail("analysed"))
    found = discover(["."], Overrides())
    results = run(found.files, Request(Task.CHECK), no_cache(), lambda done, total: None)
    assert [isinstance(result, Checked) and result.analysed for result in results] == [False, False]


def test_what_is_no_python_is_named_whatever_it_concerns(tree: Path) -> None:
    (tree / "a.py").write_text("x = (\n")
    (tree / "b.ipynb").write_text("{")  # a notebook that does not speak of torch is not read
    found = discover(["."], Overrides())
    for task in Task:
        results = run(found.files, Request(task), no_cache(), lambda done, total: None)
        assert [type(result) for result in results] == [Failed, Checked]
        only = run(found.files, Request(task, only_concerned=True), no_cache(), lambda done, total: None)
        assert [type(result) for result in only] == [Checked, Checked]


def test_a_comment_for_devfix_is_looked_at(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text("x = 1  # devfix: skip-file\n")
    assert devfix("check").err == "skipped a.py: # devfix: skip-file\n"


def test_a_file_that_takes_too_long(tree: Path) -> None:
    (tree / "a.py").write_text(BUGGY + "# please hang\n")
    (tree / "b.py").write_text(BUGGY)
    found = discover(["."], Overrides())
    first, second = run(found.files, Request(Task.CHECK, seconds=2), no_cache(), lambda done, total: None)
    assert isinstance(first, Failed)
    assert first.reason == "not done within 2 s of processor time"
    assert isinstance(second, Checked)


def test_a_few_bytes_are_not_worth_a_process(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "a.py").write_text(BUGGY)
    monkeypatch.setattr("devfix.analysis.pool.forks", lambda: False)
    monkeypatch.setattr("devfix.analysis.pool.Pool", lambda *arguments: pytest.fail("a pool"))
    [result] = run(discover(["."], Overrides()).files, Request(Task.CHECK), no_cache(), lambda done, total: None)
    assert isinstance(result, Checked)


def test_a_file_that_vanishes(tree: Path) -> None:
    (tree / "a.py").write_text(BUGGY)
    found = discover(["."], Overrides())
    (tree / "a.py").unlink()
    [result] = run(found.files, Request(Task.CHECK), no_cache(), lambda done, total: None)
    assert isinstance(result, Failed)
    assert result.reason == "cannot be read: No such file or directory"
