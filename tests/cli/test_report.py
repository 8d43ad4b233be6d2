"""`devfix report`: where the page goes, what it counts, and what the command answers."""

from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from .conftest import BUGGY, FIXED, Devfix

pytestmark = pytest.mark.usefixtures("library")

PAGE = "devfix-report.html"


def page(tree: Path, name: str = PAGE) -> LexborHTMLParser:
    return LexborHTMLParser((tree / name).read_bytes().decode("ascii"))


def verdicts(tree: Path) -> list[str | None]:
    return [node.attributes["data-verdict"] for node in page(tree).css(".finding")]


def test_no_code_is_changed_and_nothing_else_is_written(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    ran = devfix("report")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out == f"{PAGE}: 1 bug in 1 file (1 file checked): 1 safe\n"
    assert sorted(path.name for path in tree.iterdir()) == ["a.py", PAGE]
    assert (tree / "a.py").read_text() == BUGGY


def test_nothing_found(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(FIXED)
    ran = devfix("report", "-o", "other.html")
    assert (ran.code, ran.out) == (0, "other.html: no device bugs found (1 file checked)\n")
    assert page(tree, "other.html").css_first("h1").text() == "No device bugs found"


def test_a_file_that_cannot_be_handled(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text("import torch\nwrong(\n")
    ran = devfix("report")
    assert ran.code == 2
    assert ran.err.startswith("error: a.py: ")
    assert page(tree).css_first(".errors .path").text() == "a.py"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("missing.py",), "missing.py"),
        (("--output-file", "missing/report.html"), "--output-file missing/report.html: No such file"),
        (("--baseline", "x", "--no-baseline"), "contradict"),
        (("-", "--replay"), "--replay needs a file"),
        (("--select", "DVF9"), "no rule 'DVF9'"),
    ],
)
def test_wrong_usage(tree: Path, devfix: Devfix, arguments: tuple[str, ...], reason: str) -> None:
    (tree / "a.py").write_text(FIXED)
    ran = devfix("report", *arguments)
    assert ran.code == 2
    assert reason in ran.err


def test_quiet(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    assert devfix("report", "--quiet").out == ""


def test_standard_input(tree: Path, devfix: Devfix) -> None:
    assert devfix("report", "-", stdin=BUGGY.encode()).code == 1
    assert page(tree).css_first(".edit del").text() == "x = wrong(loader)"


def test_unsafe_fixes_count(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY + "y = wrong(loader)  # unsafe\nz = wrong(loader)  # manual\n")
    assert devfix("report").out == f"{PAGE}: 3 bugs in 1 file (1 file checked): 1 safe, 1 unsafe, 1 by hand\n"


def test_what_a_baseline_has_is_left_out_and_counted(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    assert devfix("baseline").code == 0
    ran = devfix("report", "--baseline", "devfix-baseline.json")
    assert (ran.code, ran.out) == (0, f"{PAGE}: no device bugs found (1 file checked, 1 in the baseline)\n")
    assert "in the baseline" in page(tree).css_first(".numbers").text()


def test_check_and_a_dry_run_write_the_same_page(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    checked = devfix("check", "--output-format", "html")
    dry = devfix("rewrite", "--diff", "--output-format", "html")
    assert checked.out == dry.out != ""
    assert (checked.code, dry.code) == (1, 1)
    assert (tree / "a.py").read_text() == BUGGY


def test_rewrite_tells_what_it_fixed(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY + "z = wrong(loader)  # manual\n")
    ran = devfix("rewrite", "--output-format", "html", "-o", PAGE)
    assert ran.code == 1
    found = page(tree)
    assert [node.attributes["data-state"] for node in found.css(".finding")] == ["fixed", "open"]
    assert found.css_first(".edit del").text() == "x = wrong(loader)"
    assert "right(loader)" in (tree / "a.py").read_text()


class TestReplay:
    @pytest.fixture(autouse=True)
    def without_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("VIRTUAL_ENV", raising=False)

    @pytest.fixture
    def project(self, tree: Path) -> Path:
        """A script of which one fix breaks it and one does not."""
        (tree / "pyproject.toml").touch()
        (tree / "run.py").write_text("import torch\nright = wrong = print\nwrong(1)\ndel right\nwrong(2)\n")
        return tree

    def test_every_fix_has_its_verdict_and_nothing_is_written(self, project: Path, devfix: Devfix) -> None:
        before = {path.name: path.read_bytes() for path in project.iterdir()}
        ran = devfix("report", "--replay", "--on", "cpu")
        assert ran.code == 1
        assert ran.out == f"{PAGE}: 2 bugs in 1 file (1 file checked): 2 safe; replay: 1 refuted\n"
        assert {path.name: path.read_bytes() for path in project.iterdir() if path.name != PAGE} == before
        assert verdicts(project) == ["inconclusive", "refuted"]
        assert "NameError at run.py:5" in page(project).css_first(".replay").text()
        assert "NameError at run.py:5" in page(project).css_first(".reason").text()

    def test_rewrite_tells_which_fixes_did_not_hold(self, project: Path, devfix: Devfix) -> None:
        assert devfix("rewrite", "--replay", "--on", "cpu", "--output-format", "html", "-o", PAGE).code == 1
        assert verdicts(project) == ["inconclusive", "refuted"]
        assert [node.attributes["data-state"] for node in page(project).css(".finding")] == ["fixed", "open"]

    def test_a_command_is_run_instead(self, project: Path, devfix: Devfix) -> None:
        (project / "lib.py").write_text("import torch\nright = wrong = print\ndef f():\n    wrong(1)\n")
        (project / "run.py").write_text("import lib\n")
        assert devfix("report", "--replay-command", "python run.py", "--on", "cpu").code == 1
        assert verdicts(project) == ["not reached"]

    def test_without_a_place_to_replay(self, project: Path, devfix: Devfix) -> None:
        ran = devfix("report", "--replay", "--python", "/no/python")
        assert ran.code == 2
        assert "/no/python could not be started: No such file or directory; nothing was written" in ran.err
        assert not (project / PAGE).exists()

    def test_without_a_fix_nothing_is_run(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text("import torch\nopen('ran', 'w')\nwrong(1)  # manual\n")
        assert devfix("report", "--replay", "--on", "cpu").code == 1
        assert verdicts(tree) == ["not replayed"]
        assert not page(tree).css(".replay")

    @pytest.mark.slow
    def test_a_function_that_nothing_runs_is_driven(self, tree: Path, devfix: Devfix) -> None:
        (tree / "pyproject.toml").touch()
        (tree / "lib.py").write_text(
            "import torch\n\n\ndef wrong(n, x):\n    return torch.arange(n)\n\n\n"
            "def right(n, x):\n    return torch.arange(n, device=x.device)\n\n\n"
            "def counted(x):\n    return x + wrong(x.shape[-1], x)\n"
        )
        assert devfix("report", "--replay", "--on", "simulated").code == 1
        assert verdicts(tree) == ["confirmed"]
        assert "made by torch.rand at devfix_driver.py" in page(tree).css_first(".replay").text()
        assert devfix("report", "--replay", "--on", "simulated", "--no-harness").code == 1
        assert verdicts(tree) == ["inconclusive"]
