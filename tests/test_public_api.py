"""What other programs may rely on: text in, findings and text out, never an exception."""

import dataclasses
import subprocess
import sys

import pytest
from devfix_codemods.engine import check, rewrite, text_edits
from devfix_codemods.findings import Finding, Safety
from devfix_codemods.outcomes import Changed, Checked, Clean, Failed, Options, Skipped
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

OPTIONS = Options(frozenset(rule.code for rule in all_rules()))
PROGRAM = b"""import torch
def train(model, loader, criterion, device):
    model.train()
    for x, y in loader:
        x = x.to(device)
        loss = criterion(model(x), y)
        loss.backward()
"""


def source(data: bytes) -> Source:
    return Source("train.py", data)


def test_check_gives_findings_that_tell_everything() -> None:
    outcome = check(source(PROGRAM), OPTIONS)
    assert isinstance(outcome, Checked)
    (finding,) = outcome.findings
    assert (finding.code, finding.name) == ("DVF101", "batch-not-moved")
    assert finding.span.line == 6
    assert finding.origin is not None
    assert finding.trail
    assert finding.fix is not None
    assert finding.fix.safety is Safety.SAFE


def test_rewrite_gives_the_whole_file_and_what_was_done() -> None:
    outcome = rewrite(source(PROGRAM), OPTIONS)
    assert isinstance(outcome, Changed)
    assert outcome.data == PROGRAM.replace(b"x = x.to(device)\n", b"x = x.to(device)\n        y = y.to(device)\n")
    assert [one.code for one in outcome.fixed] == ["DVF101"]
    assert outcome.left == ()


def test_a_second_rewrite_finds_nothing_to_do() -> None:
    first = rewrite(source(PROGRAM), OPTIONS)
    assert isinstance(first, Changed)
    assert rewrite(source(first.data), OPTIONS) == Clean()


def test_a_refused_fix_stays_a_finding() -> None:
    outcome = rewrite(source(PROGRAM), OPTIONS, accept=lambda finding: False)
    assert isinstance(outcome, Clean)
    assert [one.code for one in outcome.left] == ["DVF101"]


def test_a_fix_can_be_shown_alone() -> None:
    outcome = check(source(PROGRAM), OPTIONS)
    assert isinstance(outcome, Checked)
    fix = outcome.findings[0].fix
    assert fix is not None
    (edit,) = text_edits(source(PROGRAM), fix)
    assert edit.text == "        y = y.to(device)\n"


def test_rules_that_are_not_selected_say_nothing() -> None:
    assert check(source(PROGRAM), Options(OPTIONS.select - {"DVF101"})) == Checked(())


def test_outcomes_and_findings_cannot_be_changed() -> None:
    outcome = check(source(PROGRAM), OPTIONS)
    assert isinstance(outcome, Checked)
    with pytest.raises(dataclasses.FrozenInstanceError):
        outcome.ignored = 1  # type: ignore[misc]
    assert isinstance(outcome.findings[0], Finding)
    assert len({outcome.findings[0], *outcome.findings}) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"import torch\nfor x in y:\n    x.to(",
        b"import torch\nx.to('cuda')\nfor x, y in loader\n",
        b"import torch\nfor x, y in loader:\n\tx = x.to(d)\n        y = 1\n",
        b"import torch\n# -*- coding: latin-9000 -*-\nfor x in y: x.to(d)\n",
        b"# -*- coding: nonsense -*-\nimport torch\nfor x in loader: x.to(d)\n",
        b"import torch\nfor x in loader: x.to('\xff')\n",
        b"import torch\nfor x in loader: x.to(d)\n\x00\n",
        b"import torch\nfor x in {{ loader }}: x.to({% d %})\n",
        b"import torch\nprint 'x'\nfor x in loader: x.to(d)\n",
    ],
)
def test_what_is_no_python_fails_with_a_reason(data: bytes) -> None:
    for outcome in (check(source(data), OPTIONS), rewrite(source(data), OPTIONS)):
        if isinstance(outcome, (Checked, Clean)):
            continue  # a comment in the second line only
        assert isinstance(outcome, Failed)
        assert outcome.reason
        assert "\n" not in outcome.reason
        assert not outcome.internal


def test_a_file_that_asks_to_be_skipped_is() -> None:
    assert isinstance(check(source(b"# devfix: skip-file\n" + PROGRAM), OPTIONS), Skipped)


@pytest.mark.parametrize("data", [b"", b"\n", b"x = 1", b"\xef\xbb\xbf", b"import torch"])
def test_of_what_concerns_no_rule_nothing_is_said(data: bytes) -> None:
    assert check(source(data), OPTIONS) == Checked(())
    assert rewrite(source(data), OPTIONS) == Clean()


@pytest.mark.parametrize("data", [b"\xff\xfe", b"x = (", b"print 1"])
def test_what_concerns_no_rule_has_to_be_python_all_the_same(data: bytes) -> None:
    assert isinstance(check(source(data), OPTIONS), Failed)
    assert isinstance(rewrite(source(data), OPTIONS), Failed)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_bytes_that_are_not_edited_stay(mark: bytes, end: bytes, last: bool) -> None:
    data = mark + PROGRAM.replace(b"\n", end)
    data = data if last else data.removesuffix(end)
    outcome = rewrite(source(data), OPTIONS)
    assert isinstance(outcome, Changed)
    line = b"        x = x.to(device)" + end
    assert outcome.data == data.replace(line, line + b"        y = y.to(device)" + end)


@pytest.mark.parametrize("module", ["torch", "rich", "typer", "devfix"])
def test_the_library_loads_nothing_of_the_world(module: str) -> None:
    code = f"import devfix_codemods.engine, sys; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_checking_loads_no_editor() -> None:
    code = (
        "import sys; from devfix_codemods.engine import check; from devfix_codemods.source import Source;"
        "from devfix_codemods.outcomes import Options;"
        f"check(Source('a.py', {PROGRAM!r}), Options(frozenset({{'DVF101'}}))); sys.exit('libcst' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
