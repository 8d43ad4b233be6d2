"""Fixes that do not come true are said before anything is written, and left to the user afterwards."""

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from devfix_codemods import engine
from devfix_codemods.findings import Finding
from devfix_codemods.outcomes import Options, RewriteOutcome
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

from ..conftest import Devfix, fake_rewrite
from .conftest import driven
from .test_plain import asked
from .test_screen import sees

TEXT = "import torch\nx = wrong(1)\ny = wrong(2)  # clash\n"


@pytest.fixture
def clash(tree: Path, library: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with two fixes, of which the second never holds."""

    def rewrite(
        source: Source, options: Options, accept: Callable[[Finding], bool], project: Project | None = None
    ) -> RewriteOutcome:
        def holds(finding: Finding) -> bool:
            return "clash" not in source.lines[finding.span.line - 1] and accept(finding)

        return fake_rewrite(source, options, holds, project)

    monkeypatch.setattr(engine, "rewrite", rewrite)
    (tree / "a.py").write_text(TEXT)
    return tree / "a.py"


def test_the_screen_says_what_does_not_hold_together(clash: Path) -> None:
    said = sees("not done: a.py:3 DVF101: its fix does not go together with the others", "write 1 fix in 1 file")
    driven("a", "w", said)


def test_a_fix_that_does_not_hold_by_itself(clash: Path) -> None:
    said = sees("not done: a.py:3 DVF101: its fix does not hold in the file as it is now", "write nothing in 0 files")
    driven("j", "y", "w", said)


def test_the_prompt_says_so_too_and_answers_1(clash: Path, devfix: Devfix) -> None:
    code, out, _ = asked(devfix, "a y")
    assert code == 1
    before, _, after = out.partition("Wrote 1 fix")
    for said in (before, after):
        assert "not done: a.py:3 DVF101: its fix does not go together with the others" in said
    assert clash.read_text() == TEXT.replace("wrong(1)", "right(1)")


def test_pictures_for_the_documentation_are_drawn_by_a_command() -> None:
    script = runpy.run_path(str(Path(__file__).parents[3] / "docs" / "pictures" / "review.py"))
    drawn = script["picture"](("y",), (100, 30))
    assert drawn.startswith("<svg")
    assert "train.py" in drawn
