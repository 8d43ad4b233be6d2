"""`devfix baseline` and `check --baseline`: what is accepted stays quiet, whatever lines move."""

import json
from pathlib import Path

import pytest

from .conftest import BUGGY, FIXED, Devfix

pytestmark = pytest.mark.usefixtures("library")

KNOWN = "No new device bugs found (1 file checked, 1 in the baseline).\n"


@pytest.fixture
def recorded(tree: Path, devfix: Devfix) -> Path:
    """A tree with one accepted finding."""
    (tree / "a.py").write_text(BUGGY)
    ran = devfix("baseline")
    assert (ran.code, ran.out, ran.err) == (0, "Recorded 1 finding in devfix-baseline.json.\n", "")
    return tree


def _check(devfix: Devfix, *arguments: str) -> tuple[int, str, str]:
    ran = devfix("check", "--baseline", "devfix-baseline.json", *arguments)
    return ran.code, ran.out, ran.err


def test_what_is_known_is_not_reported(recorded: Path, devfix: Devfix) -> None:
    assert _check(devfix) == (0, KNOWN, "")
    assert devfix("check").code == 1


@pytest.mark.parametrize(
    "text",
    [
        "\n\n# new lines above\n" + BUGGY,
        BUGGY.replace("loader = 1\n", "loader = 1\n\n\n\n"),
        BUGGY.replace("loader = 1\n", "loader = 2\n"),
        BUGGY + "y = 1\n",
        "import torch\nloader = 1\nif loader:\n    x = wrong(loader)\n",
    ],
    ids=["lines above", "blank lines", "another neighbour", "another line after", "indented"],
)
def test_code_that_moves_stays_known(recorded: Path, devfix: Devfix, text: str) -> None:
    (recorded / "a.py").write_text(text)
    assert _check(devfix) == (0, KNOWN, "")


def test_a_second_one_of_the_same_text_is_new(recorded: Path, devfix: Devfix) -> None:
    (recorded / "a.py").write_text(BUGGY + "z = 0\nx = wrong(loader)\n")
    code, out, err = _check(devfix)
    assert (code, err) == (1, "")
    assert out.startswith("a.py:5:5: DVF101")
    assert "Found 1 new bug in 1 file (1 file checked, 1 in the baseline): 1 fixable" in out


def test_another_file_is_new(recorded: Path, devfix: Devfix) -> None:
    (recorded / "b.py").write_text(BUGGY)
    assert _check(devfix)[1].startswith("b.py:3:5: DVF101")


def test_an_entry_whose_finding_is_gone_is_stale(recorded: Path, devfix: Devfix) -> None:
    (recorded / "a.py").write_text(FIXED)
    code, _, err = _check(devfix)
    assert code == 0
    assert err == (
        "baseline devfix-baseline.json: 1 entry is stale; `devfix baseline` records it anew\n"
        "  a.py: DVF101: x = wrong(loader)\n"
    )
    devfix("baseline")
    assert _check(devfix)[2] == ""


def test_an_entry_whose_file_is_gone_is_stale(recorded: Path, devfix: Devfix) -> None:
    (recorded / "a.py").rename(recorded / "b.py")
    code, _, err = _check(devfix)
    assert code == 1
    assert "1 entry is stale" in err


def test_what_was_not_looked_at_is_not_stale(recorded: Path, devfix: Devfix) -> None:
    (recorded / "a.py").write_text(FIXED)
    (recorded / "b.py").write_text(FIXED)
    assert _check(devfix, "b.py")[2] == ""
    assert _check(devfix, "--select", "DVF102")[2] == ""


def test_the_settings_name_it(recorded: Path, devfix: Devfix) -> None:
    (recorded / "pyproject.toml").write_text('[tool.devfix]\nbaseline = "devfix-baseline.json"\n')
    assert devfix("check").code == 0
    assert devfix("check", "--no-baseline").code == 1
    assert devfix("check", "--isolated").code == 1


def test_other_formats_leave_it_out_too(recorded: Path, devfix: Devfix) -> None:
    assert json.loads(_check(devfix, "--output-format", "json")[1])["findings"] == []


def test_paths_are_relative_to_the_file(tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "pkg").mkdir()
    (tree / "pkg" / "a.py").write_text(BUGGY)
    devfix("baseline", "pkg")
    assert json.loads((tree / "devfix-baseline.json").read_bytes())["entries"][0]["path"] == "pkg/a.py"
    monkeypatch.chdir(tree / "pkg")
    assert devfix("check", "--baseline", "../devfix-baseline.json").code == 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file or directory; `devfix baseline` records one"),
        ("{", "no baseline of devfix: "),
        ('{"version": 1, "entries": [{}]}', "no baseline of devfix: "),
        ('{"version": 7, "entries": []}', "version 7 is not 1; `devfix baseline` records it anew"),
    ],
)
def test_what_is_no_baseline_is_refused(tree: Path, devfix: Devfix, content: str | None, reason: str) -> None:
    (tree / "a.py").write_text(BUGGY)
    if content is not None:
        (tree / "known.json").write_text(content)
    ran = devfix("check", "--baseline", "known.json")
    assert ran.code == 2
    assert ran.err.startswith(f"devfix: error: baseline known.json: {reason}")


def test_files_that_fail_are_said_and_the_rest_recorded(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    (tree / "b.py").write_text("import torch\nwrong(\n")
    ran = devfix("baseline")
    assert (ran.code, ran.out) == (2, "Recorded 1 finding in devfix-baseline.json.\n")


def test_standard_input_has_no_baseline(tree: Path, devfix: Devfix) -> None:
    assert devfix("baseline", "-", stdin=b"").code == 2


class TestStatistics:
    def test_nothing_found(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(FIXED)
        ran = devfix("check", "--statistics")
        assert (ran.code, ran.out, ran.err) == (0, "", "")

    def test_how_often(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(BUGGY + "wrong(1)  # unsafe\nwrong(2)  # manual\n")
        ran = devfix("check", "--statistics")
        assert (ran.code, ran.out) == (1, "3 DVF101 batch-not-moved (1 safe, 1 unsafe, 1 manual)\n")

    def test_as_json(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(BUGGY)
        row = {"code": "DVF101", "name": "batch-not-moved", "count": 1, "safe": 1, "unsafe": 0, "manual": 0}
        found = devfix("check", "--statistics", "--output-format", "json").json
        assert found == {"version": 1, "statistics": [row], "errors": []}

    def test_other_formats_have_none(self, tree: Path, devfix: Devfix) -> None:
        ran = devfix("check", "--statistics", "--output-format", "junit")
        assert ran.code == 2
        assert "--statistics has no junit format" in ran.err
