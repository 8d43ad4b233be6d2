"""Safe, unsafe, and suggestions; and how probable a finding is: what is told of it, and what hides it.

A plug-in finds every `wrong(…)`, with the safety and the confidence that a comment on its line says.
"""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from .conftest import TIERED, Devfix, commit, install

SUGGESTED = "d = wrong(4)  # suggestion 0.62\n"
TIERS = f"""\
import torch
from m import right, wrong

a = wrong(1)  # safe 1
b = wrong(2)  # safe 0.84
c = wrong(3)  # unsafe 0.75
{SUGGESTED}"""
ONLY = f"import torch\nfrom m import right, wrong\n\n{SUGGESTED}"


@pytest.fixture(autouse=True)
def rule(site: Path) -> None:
    install(site, TIERED)


@pytest.fixture
def train(tree: Path) -> Path:
    file = tree / "train.py"
    file.write_text(TIERS)
    return file


@pytest.fixture
def only(tree: Path) -> Path:
    file = tree / "train.py"
    file.write_text(ONLY)
    return file


def settings(tree: Path, text: str) -> None:
    (tree / "pyproject.toml").write_text(f"[tool.devfix]\n{text}\n")


def lines_of(document: Any) -> list[int]:
    return [finding["line"] for finding in document["findings"]]


class TestWhatIsShown:
    def test_suggestions_are_shown_where_they_are_asked_for(self, devfix: Devfix, train: Path) -> None:
        assert lines_of(devfix("check", "--output-format", "json").json) == [4, 5, 6]
        assert lines_of(devfix("check", "--output-format", "json", "--unsafe").json) == [4, 5, 6]
        assert lines_of(devfix("check", "--output-format", "json", "--suggestions").json) == [4, 5, 6, 7]
        assert lines_of(devfix("check", "--output-format", "json").json) == [4, 5, 6]

    def test_those_that_are_asked_for_count(self, devfix: Devfix, only: Path) -> None:
        assert devfix("check").code == 0
        assert devfix("check", "--suggestions").code == 1
        assert devfix("check", "--suggestions", "--min-confidence", "0.7").code == 0
        assert devfix("rewrite", "--diff", "--unsafe").code == 0
        assert devfix("rewrite", "--diff", "--unsafe", "--suggestions").code == 1
        assert devfix("report", "-q").code == 0
        assert devfix("report", "-q", "--suggestions").code == 1

    @pytest.mark.parametrize(
        ("least", "shown"), [("0", [4, 5, 6, 7]), ("0.75", [4, 5, 6]), ("0.84", [4, 5]), ("1", [4])]
    )
    def test_what_is_less_probable_is_left_out(self, devfix: Devfix, train: Path, least: str, shown: list[int]) -> None:
        ran = devfix("check", "--output-format", "json", "--suggestions", "--min-confidence", least)
        assert lines_of(ran.json) == shown

    def test_settings(self, devfix: Devfix, tree: Path, train: Path) -> None:
        settings(tree, "suggestions = true\nmin-confidence = 0.8")
        assert lines_of(devfix("check", "--output-format", "json").json) == [4, 5]
        assert lines_of(devfix("check", "--output-format", "json", "--min-confidence", "0").json) == [4, 5, 6, 7]
        settings(tree, "suggestions = true\nmin-confidence = 0")
        assert lines_of(devfix("check", "--output-format", "json", "--no-suggestions").json) == [4, 5, 6]

    @pytest.mark.parametrize("value", ["1.5", "-0.1", "nan"])
    @pytest.mark.parametrize("command", ["check", "rewrite", "review", "report", "baseline"])
    def test_what_is_no_probability(self, devfix: Devfix, train: Path, command: str, value: str) -> None:
        ran = devfix(command, f"--min-confidence={value}")
        assert ran.code == 2
        assert f"--min-confidence {value} is no probability; write a number from 0 to 1" in ran.err
        assert len(ran.err.splitlines()) == 1
        assert devfix("check", "--min-confidence", "much").code == 2

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("min-confidence = 1.5", "min-confidence: must be a number from 0 to 1, not 1.5"),
            ("min-confidence = nan", "min-confidence: must be a number from 0 to 1, not nan"),
            ('min-confidence = "much"', "min-confidence: expected `float`, got `str`"),
            ("suggestions = 1", "suggestions: expected `bool`, got `int`"),
        ],
    )
    def test_settings_that_are_none(self, devfix: Devfix, tree: Path, train: Path, text: str, said: str) -> None:
        settings(tree, text)
        ran = devfix("check")
        assert ran.code == 2
        assert said in ran.err
        assert len(ran.err.splitlines()) == 1

    def test_a_comment_for_a_hidden_suggestion_is_in_use(self, devfix: Devfix, only: Path) -> None:
        only.write_text(ONLY.replace("0.62\n", "0.62  # devfix: ignore[TIER101]\n"))
        for arguments in ((), ("--suggestions",), ("--min-confidence", "0.9")):
            ran = devfix("check", *arguments)
            assert (ran.code, "unused" in ran.out) == (0, False)
        assert "1 silenced" in devfix("check", "--suggestions").out
        assert "silenced" not in devfix("check").out

    def test_what_became_advice_is_hidden_too(self, devfix: Devfix, site: Path, only: Path) -> None:
        (site / "plug_other.py").write_text(TIERED.replace("SINCE = None", "SINCE = (2, 6)"))
        assert devfix("check", "--target-torch", "2.0").code == 0
        ran = devfix("check", "--target-torch", "2.0", "--suggestions")
        assert ran.code == 1
        assert "this is wrong (suggestion, 0.62)\n" in ran.out
        assert "advice: The fix (Say `right`) needs torch 2.6" in ran.out

    def test_a_baseline_with_suggestions(self, devfix: Devfix, tree: Path, train: Path) -> None:
        devfix("baseline")
        plain = json.loads((tree / "devfix-baseline.json").read_text())
        assert ["confidence" in entry for entry in plain["entries"]] == [False, True, True]
        check = ("check", "--baseline", "devfix-baseline.json")
        assert devfix(*check).code == 0
        assert devfix(*check, "--suggestions").code == 1
        devfix("baseline", "--suggestions")
        assert devfix(*check, "--suggestions").code == 0
        for arguments in ((), ("--min-confidence", "0.9"), ("--suggestions", "--min-confidence", "0.9")):
            ran = devfix(*check, *arguments)
            assert (ran.code, "stale" in ran.err) == (0, False), ran.err
        train.write_text(TIERS.replace(SUGGESTED, ""))
        assert "1 entry is stale" in devfix(*check, "--suggestions").err
        assert "stale" not in devfix(*check).err


class TestWhatIsWritten:
    @pytest.mark.parametrize("asked", [(), ("--suggestions",)])
    def test_suggestions_are_not_written_unasked(self, devfix: Devfix, train: Path, asked: tuple[str, ...]) -> None:
        ran = devfix("rewrite", "--unsafe", *asked)
        text = TIERS.replace("wrong(", "right(").replace("right(4)", "wrong(4)")
        assert train.read_text() == text
        assert ran.code == len(asked)
        assert devfix("rewrite", "--unsafe", *asked).code == len(asked)
        assert train.read_text() == text

    def test_what_is_left_and_how_it_is_got(self, devfix: Devfix, train: Path) -> None:
        assert devfix("rewrite", "--suggestions").out == (
            "train.py: 2 fixed, 2 left\n"
            "  fixed 4:5 TIER101 wrong-word: Say `right`\n"
            "  fixed 5:5 TIER101 wrong-word: Say `right` (confidence 0.84)\n"
            "  left  6:5 TIER101 wrong-word: this is wrong (confidence 0.75) (has a fix with --unsafe)\n"
            "  left  7:5 TIER101 wrong-word: this is wrong (suggestion, 0.62)\n"
            "Fixed 2 bugs in 1 file (1 file checked);"
            " 2 left: 1 with --unsafe, 1 with `devfix review --suggestions`.\n"
            "Undo with: devfix undo\n"
        )

    def test_what_is_less_probable_is_not_written(self, devfix: Devfix, train: Path) -> None:
        assert devfix("rewrite", "--unsafe", "--min-confidence", "0.8").code == 0
        assert train.read_text() == TIERS.replace("wrong(1)", "right(1)").replace("wrong(2)", "right(2)")

    def test_standard_input(self, devfix: Devfix, tree: Path) -> None:
        ran = devfix("rewrite", "--unsafe", "--suggestions", "-", stdin=ONLY.encode())
        assert (ran.code, ran.out) == (1, ONLY)

    def test_in_a_notebook(self, devfix: Devfix, tree: Path) -> None:
        cell = {"cell_type": "code", "source": ONLY, "metadata": {}, "outputs": [], "execution_count": None}
        book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (tree / "a.ipynb").write_text(json.dumps(book))
        assert devfix("check").code == 0
        assert "a.ipynb:cell 1:4:5: TIER101 wrong-word: this is wrong (suggestion, 0.62)" in (
            devfix("check", "--suggestions").out
        )


class TestReports:
    def test_text(self, devfix: Devfix, train: Path) -> None:
        out = devfix("check", "--suggestions").out
        assert "train.py:4:5: TIER101 wrong-word: this is wrong\n" in out
        assert "train.py:5:5: TIER101 wrong-word: this is wrong (confidence 0.84)\n" in out
        assert "train.py:7:5: TIER101 wrong-word: this is wrong (suggestion, 0.62)\n" in out
        assert "  = fix (suggestion): Say `right`\n  7 - d = wrong(4)" in out
        assert out.endswith(
            "Found 3 bugs and 1 suggestion in 1 file (1 file checked): 2 fixable with `devfix rewrite`,"
            " 1 more with --unsafe, 1 with `devfix review --suggestions`.\n"
        )

    def test_only_suggestions(self, devfix: Devfix, only: Path) -> None:
        assert devfix("check", "--suggestions").out.endswith(
            "Found 1 suggestion in 1 file (1 file checked): 1 with `devfix review --suggestions`.\n"
        )
        assert devfix("check").out == "No device bugs found (1 file checked).\n"

    def test_what_is_certain_is_told_as_ever(self, devfix: Devfix, tree: Path) -> None:
        (tree / "train.py").write_text(TIERS.partition("b = ")[0])
        for name in ("text", "json", "sarif", "github", "gitlab", "junit"):
            plain, asked = (devfix("check", "--output-format", name, *more).out for more in ((), ("--suggestions",)))
            assert plain == asked
            assert "confidence" not in plain
            assert '"rank"' not in plain
        assert "confidence" not in devfix("check", "--output-format", "html").out.partition("<main>")[2]

    def test_json(self, devfix: Devfix, train: Path) -> None:
        document = devfix("check", "--suggestions", "--output-format", "json").json
        told = [(one.get("confidence"), one["fix"]["safety"]) for one in document["findings"]]
        assert told == [(None, "safe"), (0.84, "safe"), (0.75, "unsafe"), (0.62, "suggestion")]
        assert document["version"] == 1
        assert document["findings"][3]["fix"]["edits"]

    def test_two_decimals(self, devfix: Devfix, only: Path) -> None:
        for confidence, told in (("0.6249", 0.62), ("0.99999", 0.99), ("0", 0.0)):
            only.write_text(ONLY.replace("0.62", confidence))
            document = devfix("check", "--suggestions", "--output-format", "json").json
            assert document["findings"][0]["confidence"] == told

    def test_sarif(self, devfix: Devfix, train: Path) -> None:
        (run,) = devfix("check", "--suggestions", "--output-format", "sarif").json["runs"]
        told = [(one["level"], one.get("rank"), one["properties"]) for one in run["results"]]
        assert told == [
            ("warning", None, {"safety": "safe"}),
            ("warning", 84.0, {"safety": "safe", "confidence": 0.84}),
            ("warning", 75.0, {"safety": "unsafe", "confidence": 0.75}),
            ("note", 62.0, {"safety": "suggestion", "confidence": 0.62}),
        ]

    def test_annotations_of_github(self, devfix: Devfix, train: Path) -> None:
        lines = devfix("check", "--suggestions", "--output-format", "github").out.splitlines()
        assert [line.partition(" ")[0] for line in lines] == ["::warning"] * 3 + ["::notice"]
        assert lines[1].endswith("train.py:5:5: this is wrong (confidence 0.84)%0Afix (safe): Say `right`")
        assert lines[3].endswith("train.py:7:5: this is wrong (suggestion, 0.62)%0Afix (suggestion): Say `right`")

    def test_issues_of_gitlab(self, devfix: Devfix, train: Path) -> None:
        issues = devfix("check", "--suggestions", "--output-format", "gitlab").json
        assert [issue["severity"] for issue in issues] == ["major", "major", "major", "info"]
        assert issues[3]["description"] == "TIER101 wrong-word: this is wrong (suggestion, 0.62)"

    def test_junit(self, devfix: Devfix, train: Path) -> None:
        root = ElementTree.fromstring(devfix("check", "--suggestions", "--output-format", "junit").out)
        messages = [one.get("message") for one in root.iter("failure")]
        assert messages == [
            "this is wrong",
            "this is wrong (confidence 0.84)",
            "this is wrong (confidence 0.75)",
            "this is wrong (suggestion, 0.62)",
        ]

    def test_statistics(self, devfix: Devfix, train: Path) -> None:
        assert devfix("check", "--statistics").out == "3 TIER101 wrong-word (2 safe, 1 unsafe)\n"
        asked = ("check", "--statistics", "--suggestions")
        assert devfix(*asked).out == "4 TIER101 wrong-word (2 safe, 1 unsafe, 1 suggestion)\n"
        assert devfix(*asked, "--output-format", "json").json["statistics"][0]["suggestion"] == 1

    def test_a_page(self, devfix: Devfix, tree: Path, train: Path) -> None:
        assert devfix("report").out == "devfix-report.html: 3 bugs in 1 file (1 file checked): 2 safe, 1 unsafe\n"
        assert "suggestion</span>" not in (tree / "devfix-report.html").read_text()
        assert devfix("report", "--suggestions").out == (
            "devfix-report.html: 3 bugs and 1 suggestion in 1 file (1 file checked): 2 safe, 1 unsafe, 1 suggested\n"
        )
        page = (tree / "devfix-report.html").read_text()
        assert '<span class="badge suggestion">suggestion</span>\n<span class="badge">confidence 0.62</span>' in page
        assert page.count('<span class="badge">confidence') == 3
        assert "<dt>suggestions</dt><dd>1</dd>" in page
        assert "<dt>by hand</dt><dd>0</dd>" in page
        assert 'name="safety" value="suggestion"' in page
        assert "<h1>3 bugs and 1 suggestion in 1 file</h1>" in page


class TestReview:
    def test_suggestions_are_offered_where_they_are_asked_for(self, devfix: Devfix, only: Path) -> None:
        assert "Apply" not in devfix("review", "--plain", stdin=b"y\ny\n").out
        out = devfix("review", "--plain", "--suggestions", stdin=b"y\ny\n").out
        assert "this is wrong (suggestion, 0.62)" in out
        assert "(1/1) Apply this suggested fix [" in out
        assert only.read_text() == ONLY.replace("wrong(4)", "right(4)")

    def test_none_is_accepted_beforehand(self, devfix: Devfix, only: Path) -> None:
        assert devfix("review", "--plain", "--suggestions", stdin=b"w\n").code == 1
        assert only.read_text() == ONLY

    def test_nor_taken_along_by_others(self, devfix: Devfix, train: Path) -> None:
        ran = devfix("review", "--plain", "--suggestions", stdin=b"a\nw\ny\n")
        assert "1 unsafe, 1 suggestion left to decide" in ran.out
        text = TIERS.replace("wrong(1)", "right(1)").replace("wrong(2)", "right(2)")
        assert train.read_text() == text

    def test_refused_suggestions_are_not_written_with_others(self, devfix: Devfix, train: Path) -> None:
        devfix("review", "--plain", "--suggestions", stdin=b"y\ny\ny\nn\ny\n")
        assert train.read_text() == TIERS.replace("wrong(", "right(").replace("right(4)", "wrong(4)")

    def test_a_comment_that_silences_one(self, devfix: Devfix, only: Path) -> None:
        assert devfix("review", "--plain", "--suggestions", stdin=b"i\ny\n").code == 0
        assert "# devfix: ignore[TIER101]" in only.read_text()
        assert devfix("check", "--suggestions").code == 0
        assert devfix("check").code == 0


def test_undo_brings_an_accepted_suggestion_back(devfix: Devfix, repository: Path) -> None:
    file = repository / "train.py"
    file.write_text(ONLY)
    commit(repository)
    devfix("review", "--plain", "--suggestions", stdin=b"y\ny\n")
    assert file.read_text() != ONLY
    devfix("undo")
    assert file.read_text() == ONLY
