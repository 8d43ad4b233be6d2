"""A project's own tests: `replay --tests`, `rewrite --replay-tests` and `repair --tests`, with torch."""

from pathlib import Path

import pytest

from .conftest import Devfix

LIBRARY = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.layer = nn.Linear(size, size)
        self.scale = torch.arange(size).float()

    def forward(self, x):
        return self.layer(x) * self.scale


def shifted(x):
    steps = torch.arange(x.shape[-1])
    return x + steps
"""
TESTS = """import torch
import lib


def test_model():
    assert lib.Model(4)(torch.ones(2, 4)).shape == (2, 4)


def test_shifted():
    assert lib.shifted(torch.ones(4)).tolist() == [1, 2, 3, 4]


def test_steps():
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    for _ in range(3):
        optimizer.step()
"""
BUFFER = '        self.register_buffer("scale", torch.arange(size).float(), persistent=False)\n'


@pytest.fixture(autouse=True)
def without_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


@pytest.fixture
def project(tree: Path) -> Path:
    # A limit of steps is one of scripts: tests would fail by it.
    (tree / "pyproject.toml").write_text("[tool.devfix]\nunsafe = true\nreplay = { steps = 1 }\n")
    (tree / "lib.py").write_text(LIBRARY)
    (tree / "tests").mkdir()
    (tree / "tests" / "test_lib.py").write_text(TESTS)
    return tree


def test_a_place_that_cannot_be_simulated_is_refused(devfix: Devfix, project: Path) -> None:
    ran = devfix("replay", "--tests", "--on", "cpu")
    assert (ran.code, ran.out) == (2, "")
    assert "--on cpu: tests run on the simulated accelerator" in ran.err


def test_neither_script_nor_tests_is_wrong_usage(devfix: Devfix, project: Path) -> None:
    for command in ("replay", "repair"):
        ran = devfix(command)
        assert (ran.code, ran.out) == (2, "")
        assert "name a script; --tests" in ran.err


def test_a_command_and_tests_contradict(devfix: Devfix, project: Path) -> None:
    (project / "run.py").touch()
    ran = devfix("rewrite", "--replay-tests", "--replay-command", "python run.py")
    assert ran.code == 2
    assert "--replay-command and --replay-tests contradict each other" in ran.err


def test_without_pytest_there_is_one_line(devfix: Devfix, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = project.parent / "environment"
    environment.mkdir()
    (environment / "sitecustomize.py").write_text("import sys\nsys.modules['pytest'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(environment))
    ran = devfix("replay", "--tests")
    assert ran.code == 2
    assert ran.err.startswith("devfix: error: pytest is not installed in this interpreter; pip install pytest")
    assert ran.err.count("\n") == 1


@pytest.mark.slow
def test_what_the_tests_reveal(devfix: Devfix, project: Path) -> None:
    before = (project / "lib.py").read_text()
    ran = devfix("replay", "--tests", "--output-format", "json", "--", "-k", "model or steps")
    assert ran.code == 1
    suite = ran.json["suite"]
    counts = {sort: count for sort, count in suite["counts"].items() if count}
    assert counts == {"alike": 1, "reveals": 1}
    assert suite["command"] == "python -m pytest -k 'model or steps'"
    (bug,) = suite["bugs"]
    assert (bug["error"]["path"], bug["error"]["line"]) == ("lib.py", 12)
    assert bug["tests"] == ["tests/test_lib.py::test_model"]
    assert "`self.scale` (float32[4]) is on the host: made by `torch.arange` at lib.py:9" in bug["story"]
    (replay,) = ran.json["replays"]
    assert (replay["path"], replay["verdict"]) == ("lib.py", "confirmed")
    assert (project / "lib.py").read_text() == before


@pytest.mark.slow
def test_fixes_are_judged_by_them(devfix: Devfix, project: Path) -> None:
    ran = devfix("rewrite", "--replay-tests", "lib.py")
    assert BUFFER in (project / "lib.py").read_text()
    assert "replay lib.py on simulated: confirmed\n        tests/test_lib.py::test_model passes now" in ran.out


@pytest.mark.slow
def test_they_are_run_in_their_project_wherever_one_stands(
    devfix: Devfix, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.parent)
    ran = devfix("rewrite", "--replay-tests", "--diff", "tree/lib.py")
    assert "on simulated: confirmed\n        tests/test_lib.py::test_model passes now" in ran.err


@pytest.mark.slow
def test_what_they_reveal_is_repaired(devfix: Devfix, project: Path) -> None:
    ran = devfix("repair", "--tests", "--write", "--", "-p", "no:cacheprovider", "--tb", "short", "tests")
    assert ran.code == 0, ran.err
    text = (project / "lib.py").read_text()
    assert BUFFER in text
    assert "steps = torch.arange(x.shape[-1], device=x.device)\n" in text
    assert "no test reveals a device error; on the plain CPU 3 tests pass." in ran.out


@pytest.mark.slow
def test_they_are_repaired_from_a_folder_below_that_of_pytest(
    devfix: Devfix, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (project / "pyproject.toml").open("a") as file:
        file.write('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    monkeypatch.chdir(project / "tests")
    ran = devfix("repair", "--tests", "--write", "--", "-p", "no:cacheprovider", "-k", "model")
    assert ran.code == 0, ran.err
    assert "no test reveals a device error; on the plain CPU 1 test passes." in ran.out
    assert BUFFER in (project / "lib.py").read_text()


def test_where_a_plugin_of_pytest_breaks_nothing_is_called_clean(devfix: Devfix, project: Path) -> None:
    (project / "conftest.py").write_text("def pytest_runtest_logstart(nodeid): raise ValueError('no such option')\n")
    for command in ("replay", "repair"):
        ran = devfix(command, "--tests")
        assert ran.code == 2
        assert "pytest could not run the tests: ValueError: no such option" in ran.err


@pytest.mark.slow
def test_a_test_that_passes_only_at_times_keeps_nothing_from_being_repaired(devfix: Devfix, project: Path) -> None:
    counted = project.parent / "runs"
    counted.write_text("")
    with (project / "tests" / "test_lib.py").open("a") as file:
        file.write(
            "\n\ndef test_now_and_then():\n"
            f"    with open({str(counted)!r}, 'a+') as runs:\n"
            "        runs.write('.')\n        runs.seek(0)\n        assert len(runs.read()) <= 2\n"
        )
    ran = devfix("repair", "--tests", "--write", "--", "-p", "no:cacheprovider", "tests")
    assert ran.code == 0, ran.out + ran.err
    assert BUFFER in (project / "lib.py").read_text()
