"""From what the user wrote to rules."""

from pathlib import Path

import pytest
from devfix.errors import UsageError
from devfix.project.settings import Choice
from devfix.rules.pages import page_named
from devfix.rules.selection import codes_of, options_of, rules_of

from .conftest import BUGGY, Devfix

pytestmark = pytest.mark.usefixtures("library")


@pytest.mark.parametrize(
    ("selectors", "codes"),
    [
        (["DVF101"], ["DVF101"]),
        (["dvf101"], ["DVF101"]),
        (["DVF1"], ["DVF101", "DVF102"]),
        (["DVF"], ["DVF101", "DVF102", "DVF201"]),
        (["all"], ["DVF101", "DVF102", "DVF201"]),
        (["batch-not-moved", "DVF2"], ["DVF101", "DVF201"]),
        (["Batch-Not-Moved"], ["DVF101"]),
        ([], []),
    ],
)
def test_selectors(selectors: list[str], codes: list[str]) -> None:
    assert sorted(codes_of(selectors)) == codes


@pytest.mark.parametrize(
    ("selector", "hint"),
    [
        ("DVF109", "did you mean 'DVF10"),
        ("batch-not-move", "did you mean 'batch-not-moved'?"),
        ("D", "`devfix rules` lists them"),
        ("E501", "`devfix rules` lists them"),
        ("", "`devfix rules` lists them"),
    ],
)
def test_what_names_no_rule_is_refused(selector: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        codes_of([selector])
    assert hint in str(error.value)
    assert page_named(selector) is None


def test_the_place_of_a_mistake() -> None:
    with pytest.raises(UsageError, match=r"^x\.toml: \[tool\.devfix\] ignore or per-file-ignores: no rule 'DVF9'"):
        options_of(Choice(ignore=("DVF9",), origin="x.toml"))


def test_everything_is_the_default() -> None:
    assert len(rules_of(Choice())) == 3
    assert options_of(Choice(ignore=("DVF1",))).select == {"DVF201"}


def test_ignore_is_stronger_than_select() -> None:
    assert not rules_of(Choice(select=("DVF101",), ignore=("DVF1",)))


def test_on_the_command_line(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    assert devfix("check", "--select", "DVF2,DVF102").code == 0
    assert devfix("check", "--select", "DVF2", "--select", "batch-not-moved").code == 1
    assert devfix("check", "--ignore", "DVF1").code == 0
    ran = devfix("check", "--select", "batch-not-move")
    assert (ran.code, ran.out, ran.err) == (
        2,
        "",
        "devfix: error: no rule 'batch-not-move'; did you mean 'batch-not-moved'? `devfix rules` lists them\n",
    )


@pytest.mark.parametrize("nothing", ["", ",", " "])
def test_a_choice_of_no_rule_is_a_mistake(tree: Path, devfix: Devfix, nothing: str) -> None:
    (tree / "a.py").write_text(BUGGY)
    ran = devfix("check", "--select", nothing)
    assert (ran.code, ran.out, ran.err) == (
        2,
        "",
        "devfix: error: --select names no rule; `devfix rules` lists them\n",
    )
    assert devfix("check", "--select", nothing, "--select", "DVF1").code == 1
    assert devfix("check", "--ignore", nothing).code == 1


def test_rules_are_listed_and_explained(devfix: Devfix) -> None:
    assert devfix("rules").out.splitlines()[0] == "DVF101 batch-not-moved       Batches that stay behind."
    assert [rule["code"] for rule in devfix("rules", "--output-format", "json").json["rules"]] == [
        "DVF101",
        "DVF102",
        "DVF201",
    ]
    page = "DVF101 batch-not-moved\n\nBatches that stay behind.\n\nWhy: torch.\n"
    assert devfix("rule", "DVF101").out == devfix("rule", "batch-not-moved").out == page
    assert devfix("rule", "DVF999").code == 2


@pytest.mark.parametrize(("code", "name"), [("DVF001", "unused-ignore"), ("DVF002", "device-guard")])
def test_what_no_rule_reports_is_explained_too(devfix: Devfix, code: str, name: str) -> None:
    ran = devfix("rule", code)
    assert ran.out.startswith(f"{code} {name}\n\n")
    assert len(ran.out.splitlines()) > 3
    assert devfix("rule", name).out == ran.out
    assert code not in devfix("rules").out
