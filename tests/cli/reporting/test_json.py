"""The report for programs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import BUGGY, Devfix

pytestmark = pytest.mark.usefixtures("library")


def test_the_document(tree: Path, devfix: Devfix) -> None:
    (tree / "pkg").mkdir()
    (tree / "pkg" / "a.py").write_text(BUGGY)
    (tree / "bad.py").write_text("import torch\nwrong(\n")
    ran = devfix("check", "--output-format", "json")
    assert ran.code == 2
    assert ran.json == {
        "version": 1,
        "findings": [
            {
                "path": "pkg/a.py",
                "line": 3,
                "column": 5,
                "end_line": 3,
                "end_column": 18,
                "code": "DVF101",
                "name": "batch-not-moved",
                "message": "`loader` is on the host",
                "trail": [
                    {"path": "pkg/a.py", "line": 1, "column": 1, "note": "comes from here"},
                    {"path": "pkg/a.py", "line": 3, "column": 5, "note": "meets `model` here"},
                ],
                "fix": {
                    "safety": "safe",
                    "title": "Say `right`",
                    "edits": [
                        {"line": 3, "column": 1, "end_line": 4, "end_column": 1, "new_text": "x = right(loader)\n"}
                    ],
                },
                "advice": None,
            }
        ],
        "errors": [{"path": "bad.py", "reason": "syntax error: '(' was never closed (line 2)"}],
    }


def test_nothing_found(tree: Path, devfix: Devfix) -> None:
    ran = devfix("check", "--output-format", "json")
    assert (ran.code, ran.json) == (0, {"version": 1, "findings": [], "errors": []})


def test_the_edits_give_what_rewrite_writes(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    [entry] = devfix("check", "--output-format", "json").json["findings"]
    lines = BUGGY.splitlines(keepends=True)
    for edit in entry["fix"]["edits"]:
        lines[edit["line"] - 1 : edit["end_line"] - 1] = [edit["new_text"]]
    assert devfix("rewrite").code == 0
    assert (tree / "a.py").read_text() == "".join(lines)


@pytest.mark.parametrize("output_format", ["json", "sarif", "gitlab"])
@pytest.mark.parametrize(
    "encoding", ["ascii", *(pytest.param(one, marks=pytest.mark.slow) for one in ("latin-1", "utf-8"))]
)
def test_it_is_json_whatever_the_stream_is_written_in(tree: Path, output_format: str, encoding: str) -> None:
    (tree / "a.py").write_text("import torch\né = torch.zeros(3).cuda()\nprint(é + torch.zeros(3))\n")
    command = [sys.executable, "-m", "devfix", "check", "--output-format", output_format]
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode == 1
    assert "é" in json.dumps(json.loads(done.stdout), ensure_ascii=False)
