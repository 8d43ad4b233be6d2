"""What `rewrite` makes of a stranger's tree, before anything runs or is written."""

import json
from pathlib import Path

import pytest
from devfix.batch.migration.fixes import Found, find
from devfix.batch.migration.recording import fixes_told, readable_path, unhandled_told
from devfix.batch.records import Rules
from devfix.errors import UsageError

BUGGY = """import torch

scaler = torch.cuda.amp.GradScaler()
model = torch.nn.Linear(2, 2)
model.load_state_dict(torch.load("a.pt"))
"""
ALL = Rules(unsafe=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = tmp_path / "run" / "tree"
    (top / "package").mkdir(parents=True)
    (top / ".git").touch()
    (top / "package" / "train.py").write_text(BUGGY)
    return top


def found_in(top: Path, rules: Rules = ALL) -> Found:
    return find(top, top, rules, 1)


def codes(found: Found) -> list[str]:
    return [finding.code for result in found.changed for finding in result.findings]


def test_settings_above_the_repository_do_not_count(tree: Path) -> None:
    (tree.parent / "pyproject.toml").write_text('[tool.devfix]\nselect = ["DVF101"]\n')
    (tree.parent / "requirements.txt").write_text("torch<1.0\n")
    assert codes(found_in(tree)) == ["DVF302", "DVF401"]


def test_the_repository_chooses_rules_unless_the_manifest_does(tree: Path) -> None:
    (tree / "pyproject.toml").write_text('[tool.devfix]\nselect = ["DVF302"]\n')
    assert codes(found_in(tree)) == ["DVF302"]
    assert codes(found_in(tree, Rules(select=("DVF401",), unsafe=True))) == ["DVF401"]


def test_a_mistake_in_its_settings_is_named(tree: Path) -> None:
    (tree / "pyproject.toml").write_text('[tool.devfix]\nselct = ["DVF302"]\n')
    with pytest.raises(UsageError, match="selct"):
        found_in(tree)


def test_a_link_out_of_the_tree_is_left_alone(tree: Path) -> None:
    outside = tree.parent / "outside.py"
    outside.write_text(BUGGY)
    (tree / "link.py").symlink_to(outside)
    found = found_in(tree)
    assert [Path(one.target.path).name for one in found.changed] == ["train.py"]
    assert outside.read_text() == BUGGY
    assert not any("outside.py" in path for path, _ in unhandled_told(found, tree) if "link" not in path)


def test_what_cannot_be_read_is_told_and_the_rest_is_done(tree: Path) -> None:
    (tree / "old.py").write_text("import torch\nprint torch.load('x')\n")
    found = found_in(tree)
    assert codes(found) == ["DVF302", "DVF401"]
    assert [path for path, _ in unhandled_told(found, tree)] == ["old.py"]


def test_each_fix_is_a_part_and_any_of_them_can_be_dropped(tree: Path) -> None:
    found = found_in(tree)
    fixes = found.fixes()
    first, second = fixes.parts
    path = tree / "package" / "train.py"
    assert b"map_location" in fixes.files([second])[path]
    assert b"map_location" not in fixes.files([first])[path]
    fixes.drop([first], "it broke the tests")
    assert fixes.parts == [second]
    (change,) = fixes.changes()
    assert change.after == fixes.files([second])[path]
    told = fixes_told(found, fixes, [], tree)
    assert [(fix.path, fix.line, fix.code, fix.dropped) for fix in told] == [
        ("package/train.py", 3, "DVF302", "it broke the tests"),
        ("package/train.py", 5, "DVF401", None),
    ]
    fixes.drop([second], "and so did it")
    assert not fixes.changes()
    assert not fixes.files(fixes.parts)
    assert path.read_text() == BUGGY


def test_the_trail_through_a_notebook_names_its_cells(tree: Path) -> None:
    sources = ["import torch\nx = torch.zeros(3)\ny = torch.ones(3).cuda()", "print(x + y)"]
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": one} for one in sources]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (tree / "package" / "a.ipynb").write_text(json.dumps(book))
    found = found_in(tree, Rules(select=("DVF104",)))
    (fix,) = fixes_told(found, found.fixes(), (), tree)
    assert (fix.path, fix.cell, fix.line) == ("package/a.ipynb", 2, 1)
    assert [(stop.cell, stop.line) for stop in fix.trail] == [(1, 2), (2, 1), (1, 3)]


def test_names_that_json_cannot_carry() -> None:
    assert readable_path(Path("a\udcff.py")) == "a\\xff.py"
