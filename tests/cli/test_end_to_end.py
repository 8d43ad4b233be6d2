"""The application with the true library beneath it."""

from pathlib import Path

import pytest

from .conftest import Devfix, commit, git

CORPUS = Path(__file__).parents[2] / "corpus"
CASE = CORPUS / "DVF101-batch-not-moved" / "classifier-labels"
BEFORE = (CASE / "before.py").read_text()
AFTER = (CASE / "after.py").read_text()


def test_check_tells_the_way_of_the_value(tree: Path, devfix: Devfix) -> None:
    (tree / "train.py").write_text(BEFORE)
    ran = devfix("check")
    assert ran.code == 1
    assert ran.out.startswith("train.py:21:16: ")
    assert " DVF101 batch-not-moved: " in ran.out
    assert "  20 +         y = y.to(device)\n" in ran.out
    assert ran.out.endswith("Found 1 bug in 1 file (1 file checked): 1 fixable with `devfix rewrite`.\n")


def test_rewrite_diff_apply_and_undo_agree(repository: Path, devfix: Devfix) -> None:
    path = repository / "train.py"
    path.write_bytes(BEFORE.replace("\n", "\r\n").encode())
    commit(repository)
    patch = devfix("rewrite", "--diff")
    assert patch.code == 1
    assert devfix("rewrite").code == 0
    assert path.read_bytes() == AFTER.replace("\n", "\r\n").encode()
    assert devfix("rewrite", "--diff", "--allow-dirty").out == ""
    assert devfix("undo").code == 0
    assert git(repository, "status", "--porcelain") == ""
    (repository / "p.diff").write_bytes(patch.out.encode())
    git(repository, "apply", "p.diff")
    assert path.read_bytes() == AFTER.replace("\n", "\r\n").encode()


def test_standard_input(tree: Path, devfix: Devfix) -> None:
    assert devfix("rewrite", "-", stdin=BEFORE.encode()).out == AFTER


@pytest.mark.parametrize("case", sorted(CORPUS.glob("DVF101*/*/before.py")), ids=lambda path: path.parent.name)
def test_the_shown_edits_are_the_edits_that_are_made(case: Path, tree: Path, devfix: Devfix) -> None:
    before = case.read_text()
    (tree / "a.py").write_text(before)
    [*findings] = devfix("check", "--output-format", "json").json["findings"]
    fixes = [entry["fix"] for entry in findings if entry["fix"] is not None]
    if [fix["safety"] for fix in fixes] != ["safe"]:
        pytest.skip("one fix at a time: beside what a safe one moves, another one may be safe as well")
    lines = before.splitlines(keepends=True)
    for edit in sorted(fixes[0]["edits"], key=lambda edit: -edit["line"]):
        lines[edit["line"] - 1 : edit["end_line"] - 1] = [edit["new_text"]]
    devfix("rewrite")
    assert (tree / "a.py").read_text() == "".join(lines)


def test_every_rule_has_a_page(devfix: Devfix) -> None:
    rules = devfix("rules", "--output-format", "json").json["rules"]
    assert rules
    for rule in rules:
        ran = devfix("rule", rule["code"])
        assert ran.code == 0
        assert ran.out.startswith(f"{rule['code']} {rule['name']}\n\n{rule['summary']}\n")


@pytest.mark.slow
def test_replay_judges_each_changed_script(tree: Path, devfix: Devfix) -> None:
    (tree / "train.py").write_text(BEFORE)
    ran = devfix("rewrite", "--replay", "--on", "cpu", "--output-format", "json")
    [replay] = ran.json["replays"]
    assert (replay["path"], replay["verdict"], ran.code) == ("train.py", "inconclusive", 1)
    assert "y = y.to(device)" in (tree / "train.py").read_text()


@pytest.mark.slow
def test_a_patch_that_breaks_its_script_is_not_written(
    tree: Path, devfix: Devfix, library: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import torch\nwrong = print\nwrong(1)\n"
    (tree / "a.py").write_text(text)
    ran = devfix("rewrite", "--replay", "--on", "cpu")
    assert ran.code == 1
    assert "refuted" in ran.out
    assert "1 left" in ran.out
    assert (tree / "a.py").read_text() == text
    assert devfix("rewrite", "--replay", "--on", "cpu", "--diff").out == ""
