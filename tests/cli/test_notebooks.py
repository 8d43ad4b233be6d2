"""Notebooks on the command line: findings by cell, diffs by cell, bytes that stay."""

import json
from pathlib import Path

import pytest

from .conftest import Devfix

SEED = Path(__file__).parents[2] / "corpus" / "seeds" / "llms_chapter6"
BEFORE, AFTER = ((SEED / f"{name}.ipynb").read_bytes() for name in ("before", "after"))


def small(*sources: str, **more: object) -> bytes:
    cells = [
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source.splitlines(True)}
        for source in sources
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}, indent=1).encode()


@pytest.mark.parametrize(
    "data",
    [
        small("x = 1"),
        small("import torch", "%cd ..", "await torch.f()"),
        small("import torch\n%load_ext x", "%%bash\npython train.py --torch"),
        small("library(torch)", "x <- 1", metadata={"language_info": {"name": "R"}}),
    ],
)
def test_what_has_no_bug_is_left_alone(data: bytes, tree: Path, devfix: Devfix) -> None:
    (tree / "a.ipynb").write_bytes(data)
    assert devfix("check").code == 0
    assert devfix("rewrite", "--unsafe").code == 0
    assert (tree / "a.ipynb").read_bytes() == data


def test_a_notebook_of_another_language_is_skipped(tree: Path, devfix: Devfix) -> None:
    (tree / "a.ipynb").write_bytes(small("library(torch)", metadata={"language_info": {"name": "R"}}))
    assert devfix("check").err == "skipped a.ipynb: a notebook of R\n"


def test_a_finding_is_named_by_its_cell(tree: Path, devfix: Devfix) -> None:
    (tree / "a.ipynb").write_bytes(BEFORE)
    ran = devfix("check", "--no-cache")
    assert ran.code == 1
    assert ran.out.startswith("a.ipynb:cell 11:4:18: DVF201 submodule-after-move: ")
    lines = ran.out.splitlines()
    assert lines[2:4] == ["   | cell 7", " 2 | model.to(device);"]
    assert "   | cell 11" in lines
    assert lines[lines.index("     | cell 11") + 2] == "   5 + model.to(device)"
    assert devfix("check").out == devfix("check").out == ran.out


def test_json_has_the_cell(tree: Path, devfix: Devfix) -> None:
    (tree / "a.ipynb").write_bytes(BEFORE)
    (finding,) = devfix("check", "--output-format", "json").json["findings"]
    assert {key: finding[key] for key in ("path", "cell", "line", "column", "end_line", "code")} == {
        "path": "a.ipynb",
        "cell": 11,
        "line": 4,
        "column": 18,
        "end_line": 4,
        "code": "DVF201",
    }
    assert [(note["cell"], note["line"]) for note in finding["trail"]] == [(11, 4), (14, 13), (7, 2)]
    (edit,) = finding["fix"]["edits"]
    assert {key: edit[key] for key in ("cell", "line", "column", "new_text")} == {
        "cell": 11,
        "line": 5,
        "column": 1,
        "new_text": "model.to(device)\n",
    }


def test_the_diff_is_by_cell(tree: Path, devfix: Devfix) -> None:
    (tree / "a.ipynb").write_bytes(BEFORE)
    ran = devfix("rewrite", "--diff")
    assert ran.code == 1
    assert ran.out.startswith("--- a/a.ipynb:cell 11\t\n+++ b/a.ipynb:cell 11\t\n@@ -2,3 +2,4 @@\n")
    assert ran.out.endswith("\n+model.to(device)\n")
    assert (tree / "a.ipynb").read_bytes() == BEFORE


def test_write_and_undo(tree: Path, devfix: Devfix) -> None:
    (tree / "a.ipynb").write_bytes(BEFORE)
    ran = devfix("rewrite")
    assert (ran.code, ran.out.splitlines()[1].split(": ")[0]) == (0, "  fixed cell 11:4:18 DVF201 submodule-after-move")
    assert (tree / "a.ipynb").read_bytes() == AFTER
    assert devfix("rewrite").out == "Nothing to fix (1 file checked).\n"
    assert devfix("undo").code == 0
    assert (tree / "a.ipynb").read_bytes() == BEFORE


def test_standard_input(tree: Path, devfix: Devfix) -> None:
    assert devfix("check", "-", "--stdin-filename", "a.ipynb", stdin=BEFORE).out.startswith("a.ipynb:cell 11:4:18: ")
    assert devfix("rewrite", "-", "--stdin-filename", "a.ipynb", stdin=BEFORE).out.encode() == AFTER
    assert devfix("rewrite", "--diff", "-", "--stdin-filename", "a.ipynb", stdin=BEFORE).out.startswith(
        "--- a/a.ipynb:cell 11"
    )


def test_a_fix_stays_in_its_cell(tree: Path, devfix: Devfix) -> None:
    cells = (
        "import torch\nfrom torch import nn\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')",
        "model = nn.Linear(2, 2).to(device)\nloader = torch.utils.data.DataLoader(data)",
        "for x, y in loader:\n    x = x.to(device)\n    loss = nn.functional.mse_loss(model(x), y)",
        "await model.report()  # the end",
    )
    (tree / "a.ipynb").write_bytes(small(*cells))
    assert devfix("rewrite").code == 0
    moved = cells[2].replace("x = x.to(device)", "x = x.to(device)\n    y = y.to(device)")
    assert (tree / "a.ipynb").read_bytes() == small(*cells[:2], moved, cells[3])


def test_a_device_is_declared_in_the_cell_of_the_imports(tree: Path, devfix: Devfix) -> None:
    cells = (
        "import torch\nfrom torch import nn",
        "model = nn.Linear(2, 2).to('cuda' if torch.cuda.is_available() else 'cpu')",
        "import math\nloader = torch.utils.data.DataLoader(data)",
        "for x, y in loader:\n    loss = nn.functional.mse_loss(model(x), y)",
    )
    (tree / "a.ipynb").write_bytes(small(*cells))
    assert devfix("rewrite", "--unsafe").code == 0
    after = ["".join(cell["source"]) for cell in json.loads((tree / "a.ipynb").read_bytes())["cells"]]
    assert after[0] == f'{cells[0]}\n\ndevice = torch.device("cuda" if torch.cuda.is_available() else "cpu")'
    assert after[1] == "model = nn.Linear(2, 2).to(device)"
    assert after[2] == cells[2]


def test_a_cell_that_is_no_python_is_named(tree: Path, devfix: Devfix) -> None:
    (tree / "a.ipynb").write_bytes(small("import torch", "x = 1\ny = ("))
    ran = devfix("check")
    assert (ran.code, ran.err) == (2, "error: a.ipynb: cell 2: syntax error: '(' was never closed (line 2)\n")


def test_what_is_no_notebook_is_named(tree: Path, devfix: Devfix) -> None:
    (tree / "a.ipynb").write_text('{"torch": 1}')
    for arguments in (("check",), ("check", "a.ipynb"), ("rewrite", "a.ipynb")):
        ran = devfix(*arguments)
        assert (ran.code, ran.err) == (2, "error: a.ipynb: a notebook of format None; only format 4 is read\n")


def test_comments_silence_findings_and_notebooks(tree: Path, devfix: Devfix) -> None:
    silenced = BEFORE.replace(b"out_features=num_classes)", b"out_features=num_classes)  # devfix: ignore[DVF201]")
    (tree / "a.ipynb").write_bytes(silenced)
    (tree / "b.ipynb").write_bytes(BEFORE.replace(b'"import torch\\n"', b'"import torch  # devfix: skip-file\\n"'))
    ran = devfix("check")
    assert ran.code == 0
    assert ran.err == "skipped b.ipynb: it says `# devfix: skip-file`\n"


def test_pictures_do_not_count_towards_the_limit(tree: Path, devfix: Devfix) -> None:
    (tree / "a.ipynb").write_bytes(BEFORE.replace(b"cuda: False", b"x" * 2_000_000))
    (tree / "b.ipynb").write_bytes(BEFORE.replace(b"cuda: False", b"x" * 40_000_000))
    ran = devfix("check")
    assert ran.out.startswith("a.ipynb:cell 11:4:18: ")
    assert ran.err.startswith("skipped b.ipynb: 40,")


def test_checkpoints_are_left_out(tree: Path, devfix: Devfix) -> None:
    (tree / ".ipynb_checkpoints").mkdir()
    (tree / ".ipynb_checkpoints" / "a-checkpoint.ipynb").write_bytes(BEFORE)
    assert devfix("check").code == 0


DEPRECATED = (
    "`torch.cuda.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('cuda', args...)` instead."
)
CELLS = ("import torch", "def twice(x):\n    return 2 * x", "torch.cuda.amp.GradScaler()\nprint(twice(1))")


def test_a_notebook_is_replayed(tree: Path, devfix: Devfix) -> None:
    (tree / "notes").mkdir()
    path = tree / "notes" / "a.ipynb"
    path.write_bytes(small(*CELLS))
    ran = devfix("replay", "notes/a.ipynb", "--on", "cpu")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[:2] == [
        "replay notes/a.ipynb on cpu: confirmed",
        f"        FutureWarning at a.ipynb:cell 3:1 is gone: {DEPRECATED}",
    ]
    assert path.read_bytes() == small(*CELLS)
    ran = devfix("rewrite", "--replay", "--on", "cpu")
    assert (ran.code, "replay notes/a.ipynb on cpu: confirmed\n" in ran.out) == (0, True)
    assert path.read_bytes() != small(*CELLS)


def test_a_notebook_that_cannot_run_is_named(tree: Path, devfix: Devfix) -> None:
    (tree / "a.ipynb").write_bytes(small("import torch", "x = ("))
    ran = devfix("replay", "a.ipynb", "--on", "cpu")
    assert ran.code == 2
    assert "replay a.ipynb on cpu: could not start: cell 2: syntax error: '(' was never closed (line 1)" in ran.out


def test_in_sarif_a_finding_has_its_cell_and_no_region(tree: Path, devfix: Devfix) -> None:
    (tree / "a.ipynb").write_bytes(BEFORE)
    (result,) = json.loads(devfix("check", "--output-format", "sarif").out)["runs"][0]["results"]
    (place,) = result["locations"]
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "cell 11, line 4"
    assert "region" not in place["physicalLocation"]
    assert "fixes" not in result
