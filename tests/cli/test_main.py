"""The entry point: what is imported, how wrong usage is told, and what happens to odd streams."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import devfix as package
import pytest

from .conftest import BUGGY, Devfix

PROJECT = Path(__file__).parents[2]
HEAVY = ("libcst", "torch", "numpy", "rich", "pydantic")


def imported_by(*arguments: str) -> set[str]:
    """The modules that one command line has imported when it is done."""
    code = (
        f"import sys; from devfix.__main__ import main; main({list(arguments)!r}); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["check", "--help"], ["rewrite", "--help"]])
def test_help_and_version_import_next_to_nothing(arguments: list[str]) -> None:
    assert not imported_by(*arguments) & {*HEAVY, "msgspec", "pathspec", "devfix_codemods.engine"}


def test_check_imports_no_libcst_and_the_cache_spares_the_engine(tree: Path) -> None:
    (tree / "a.py").write_text("import torch\nx = torch.zeros(3)  # autocast\n")
    os.utime(tree / "a.py", (1, 1))
    assert not imported_by("check") & {*HEAVY}
    spared = {"devfix.analysis.one_file", "devfix.reporting.frame", "devfix_codemods.engine", "devfix_codemods.rules"}
    spared |= {"devfix.commands.batch", "devfix_codemods.edits.operations", "pathspec"}
    assert not imported_by("check") & spared


def test_a_finding_that_is_remembered_is_shown_without_what_notebooks_and_documents_need(tree: Path) -> None:
    (tree / "a.py").write_text("import torch\nx = torch.zeros(3)\nx.cuda()\nprint(x)\n")
    os.utime(tree / "a.py", (1, 1))
    assert "devfix_codemods.engine" in imported_by("check")
    shown = imported_by("check")
    assert "devfix.reporting.frame" in shown
    assert not shown & {"devfix_codemods.engine", "devfix_codemods.notebooks", "devfix.reporting.report"}


def test_the_version_is_that_of_the_package(devfix: Devfix) -> None:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    assert package.__version__ == declared
    assert devfix("--version").out == f"devfix {declared}\n"


def test_no_command_shows_the_help_and_is_wrong_usage(devfix: Devfix) -> None:
    ran = devfix()
    assert (ran.code, ran.err) == (2, "")
    assert re.search(r"check +Say what is wrong, and why\.", ran.out)
    assert devfix("--help").code == 0


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["chekc"], "No such command 'chekc'"),
        (["check", "--selekt", "x"], "--select"),
        (["check", "--jobs", "0"], "--jobs"),
        (["check", "--jobs", "many"], "--jobs"),
        (["check", "--output-format", "xml"], "--output-format"),
        (["check", "--target-torch", "new"], "--target-torch 'new' is no torch version; write it like 2.4"),
        (["check", "--config", "nope.toml"], "--config nope.toml: No such file or directory"),
        (["rewrite", "--on", "abacus"], "--on"),
        (["rewrite", "--replay-timeout", "0"], "--replay-timeout"),
        (["rule"], "CODE"),
        (["undo", "a", "b"], "b"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], what: str, tree: Path, devfix: Devfix) -> None:
    ran = devfix(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("devfix: error: ")
    assert ran.err.count("\n") == 1
    assert what in ran.err


@pytest.mark.usefixtures("library")
def test_exit_codes(tree: Path, devfix: Devfix) -> None:
    assert devfix("check").code == 0
    (tree / "a.py").write_text(BUGGY)
    assert devfix("check").code == 1
    assert devfix("check", "a.py", "nope.py").code == 2
    assert devfix("rewrite", "--diff").code == 1
    assert devfix("rewrite").code == 0
    assert devfix("rewrite", "--diff").code == 0


def test_a_stream_that_cannot_show_a_letter_gets_an_escape(tree: Path) -> None:
    (tree / "a.py").write_text("import torch\nwith torch.cuda.amp.autocast():  # é\n    pass\n")
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-m", "devfix", "check"], capture_output=True, env=environment, check=False)
    assert done.returncode == 1
    assert b"# \\xe9" in done.stdout
    assert done.stderr == b""


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error(tree: Path) -> None:
    for number in range(300):
        (tree / f"{number}.py").write_text("import torch\nwith torch.cuda.amp.autocast():\n    pass\n")
    command = f"{sys.executable} -m devfix check | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[1] == "1"
