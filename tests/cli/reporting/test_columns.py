"""`rewrite --diff --side-by-side`, and `--color`."""

import json
from pathlib import Path

import pytest

from ..conftest import BUGGY, FIXED, Devfix

pytestmark = pytest.mark.usefixtures("library")


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devfix.reporting.terminal.PIPE_WIDTH", 61)


def _shown(devfix: Devfix, *arguments: str) -> list[str]:
    return devfix("rewrite", "--diff", "--side-by-side", *arguments).out.rstrip("\n").splitlines()


def test_nothing_to_show(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(FIXED)
    assert _shown(devfix) == []


def test_it_goes_with_a_diff(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    ran = devfix("rewrite", "--side-by-side")
    assert (ran.code, ran.out) == (2, "")
    assert "--side-by-side is a way to show the patch: it goes with --diff" in ran.err
    assert (tree / "a.py").read_text() == BUGGY


def test_both_versions_with_their_numbers(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    assert _shown(devfix) == [
        "a.py",
        "─" * 30 + "┬" + "─" * 30,
        "1   import torch              │ 1   import torch",
        "2   loader = 1                │ 2   loader = 1",
        "3 - x = wrong(loader)         │ 3 + x = right(loader)",
    ]
    assert (tree / "a.py").read_text() == BUGGY


def test_long_lines_are_folded_and_wide_letters_counted(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text("import torch\nx = wrong('漢字漢字漢字漢字', 1)\n")
    assert _shown(devfix)[3:] == [
        "2 - x = wrong('漢字漢字漢字漢 │ 2 + x = right('漢字漢字漢字漢",
        "    字', 1)                   │     字', 1)",
    ]


def test_nothing_of_the_code_reaches_the_terminal_raw(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text("import torch\nx = wrong('\x1b[31m\u202e')\n\ty = 1\n".replace("\ty", "y"))
    shown = "".join(_shown(devfix))
    assert not {"\x1b", "\u202e"} & set(shown)
    assert "\N{REPLACEMENT CHARACTER}" in shown


class TestColour:
    @pytest.mark.parametrize("place", ["before", "after"])
    def test_the_option_is_stronger_than_the_environment(
        self, tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        (tree / "a.py").write_text(BUGGY)

        def out(choice: str) -> str:
            option = ("--color", choice)
            return devfix(*option, "check").out if place == "before" else devfix("check", *option).out

        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b[" in out("always")
        monkeypatch.delenv("NO_COLOR")
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert "\x1b[" not in out("never")
        assert "\x1b[" in out("auto")

    def test_it_holds_for_one_run(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(BUGGY)
        devfix("check", "--color", "always")
        assert "\x1b[" not in devfix("check").out

    def test_documents_have_none(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(BUGGY)
        assert json.loads(devfix("check", "--color", "always", "--output-format", "json").out)["version"] == 1

    def test_what_changed_in_a_line_stands_out(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(BUGGY)
        shown = devfix("rewrite", "--diff", "--side-by-side", "--color", "always").out
        assert "\x1b[7;31mwrong\x1b[0m" in shown
        assert "\x1b[7;32mright\x1b[0m" in shown
