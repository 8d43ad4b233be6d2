"""The reports for other programs: against the schema where there is one, else against what the program documents."""

import json
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft7Validator

from ..conftest import BUGGY, FIXED, Devfix

pytestmark = pytest.mark.usefixtures("library")

SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-schema-2.1.0.json").read_bytes())
HOSTILE = "a%0A::error file=x,y<b>\"'&:.py"
HOSTILE_CODE = "import torch\nx = wrong('</failure>\\u202e::error::x')\n"


def _sarif(devfix: Devfix, *arguments: str) -> dict[str, Any]:
    log = json.loads(devfix("check", "--output-format", "sarif", *arguments).out)
    Draft7Validator(SCHEMA).validate(log)
    (run,) = log["runs"]
    return run


class TestSarif:
    def test_a_clean_tree_has_no_results(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(FIXED)
        run = _sarif(devfix)
        assert run["results"] == []
        assert run["invocations"][0]["executionSuccessful"] is True

    def test_a_finding_with_its_fix(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(BUGGY)
        run = _sarif(devfix)
        (result,) = run["results"]
        rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
        assert rule["id"] == result["ruleId"] == "DVF101"
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "a.py"
        assert place["region"] == {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 18}
        (change,) = result["fixes"][0]["artifactChanges"]
        assert _applied(BUGGY, change["replacements"]) == FIXED

    def test_the_trail_is_a_code_flow(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(BUGGY)
        trail = json.loads(devfix("check", "--output-format", "json").out)["findings"][0]["trail"]
        (flow,) = _sarif(devfix)["results"][0]["codeFlows"]
        stops = [one["location"] for one in flow["threadFlows"][0]["locations"]]
        assert [stop["message"]["text"] for stop in stops] == [note["note"] for note in trail]
        assert [stop["physicalLocation"]["region"]["startLine"] for stop in stops] == [note["line"] for note in trail]

    def test_fingerprints_outlive_moved_lines_and_tell_twins_apart(self, tree: Path, devfix: Devfix) -> None:
        twins = BUGGY + "x = wrong(loader)\n" * 3
        (tree / "a.py").write_text(twins)
        before = [one["partialFingerprints"]["devfix/v1"] for one in _sarif(devfix)["results"]]
        assert len(set(before)) == 4
        (tree / "a.py").write_text("import torch\n\n\nimport os\n\n" + twins.removeprefix("import torch\n"))
        after = [one["partialFingerprints"]["devfix/v1"] for one in _sarif(devfix)["results"]]
        assert after == before

    def test_files_that_fail_are_notifications(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text("import torch\nwrong(\n")
        run = _sarif(devfix)
        (invocation,) = run["invocations"]
        assert invocation["executionSuccessful"] is False
        assert "syntax error" in invocation["toolExecutionNotifications"][0]["message"]["text"]

    @pytest.mark.skipif(os.name == "nt", reason="no such names")
    def test_odd_names_are_uris(self, tree: Path, devfix: Devfix) -> None:
        (tree / HOSTILE).write_text(BUGGY)
        uri = _sarif(devfix)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert uri == "a%250A%3A%3Aerror%20file%3Dx%2Cy%3Cb%3E%22%27%26%3A.py"


class TestGithub:
    def test_a_clean_tree_says_nothing(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(FIXED)
        ran = devfix("check", "--output-format", "github")
        assert (ran.code, ran.out) == (0, "")

    def test_a_finding_is_one_line(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(BUGGY)
        assert devfix("check", "--output-format", "github").out == (
            "::warning title=devfix DVF101 (batch-not-moved),file=a.py,line=3,col=5,endLine=3,endColumn=18::"
            "a.py:3:5: `loader` is on the host%0Afix (safe): Say `right`\n"
        )

    @pytest.mark.skipif(os.name == "nt", reason="no such names")
    def test_no_name_starts_a_command_of_its_own(self, tree: Path, devfix: Devfix) -> None:
        (tree / HOSTILE).write_text(BUGGY)
        (line,) = devfix("check", "--output-format", "github").out.splitlines()
        assert "file=a%250A%3A%3Aerror file=x%2Cy<b>\"'&%3A.py,line=3" in line

    def test_files_that_fail_are_errors(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text("import torch\nwrong(\n")
        assert devfix("check", "--output-format", "github").out.startswith(
            "::error title=devfix,file=a.py::syntax error"
        )


class TestGitlab:
    def test_a_clean_tree_is_an_empty_list(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(FIXED)
        assert json.loads(devfix("check", "--output-format", "gitlab").out) == []

    def test_an_issue_has_what_gitlab_asks_for(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(BUGGY + "y = wrong(\n    loader\n)\n")
        issues = json.loads(devfix("check", "--output-format", "gitlab").out)
        assert [issue.pop("fingerprint") for issue in issues] != [None, None]
        assert issues[1] == {
            "description": "DVF101 batch-not-moved: `loader` is on the host",
            "check_name": "DVF101",
            "severity": "major",
            "location": {"path": "a.py", "lines": {"begin": 4, "end": 6}},
        }

    def test_files_that_fail_are_issues(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text("import torch\nwrong(\n")
        (issue,) = json.loads(devfix("check", "--output-format", "gitlab").out)
        assert issue["severity"] == "critical"
        assert "syntax error" in issue["description"]


class TestJunit:
    def test_a_clean_file_passes(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(FIXED)
        root = ElementTree.fromstring(devfix("check", "--output-format", "junit").out)
        assert root.attrib == {"name": "devfix", "tests": "1", "failures": "0", "errors": "0"}

    def test_findings_are_failures(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(BUGGY)
        (tree / "b.py").write_text("import torch\nwrong(\n")
        root = ElementTree.fromstring(devfix("check", "--output-format", "junit").out)
        assert root.attrib == {"name": "devfix", "tests": "2", "failures": "1", "errors": "1"}
        (failure,) = root.iter("failure")
        assert failure.attrib == {"message": "`loader` is on the host", "type": "DVF101"}
        assert failure.text == "a.py:3:5: DVF101 batch-not-moved: `loader` is on the host\nfix (safe): Say `right`"

    @pytest.mark.skipif(os.name == "nt", reason="no such names")
    def test_odd_names_stay_names(self, tree: Path, devfix: Devfix) -> None:
        (tree / HOSTILE).write_text(HOSTILE_CODE)
        (tree / "b\x1b\x01.py").write_text(BUGGY)
        root = ElementTree.fromstring(devfix("check", "--output-format", "junit").out)
        assert {suite.get("name") for suite in root} == {
            HOSTILE,
            "b\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}.py",
        }


def test_a_dry_run_tells_what_is_in_the_files(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY + "y = wrong(2)  # manual\n")
    shown = devfix("rewrite", "--diff", "--output-format", "sarif")
    assert json.loads(shown.out) == json.loads(devfix("check", "--output-format", "sarif").out)
    assert len(json.loads(shown.out)["runs"][0]["results"]) == 2


def test_after_a_rewrite_only_what_is_left_is_told(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY + "y = wrong(2)  # manual\n")
    (result,) = json.loads(devfix("rewrite", "--output-format", "sarif").out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 4


def _applied(text: str, replacements: list[dict[str, Any]]) -> str:
    lines = text.splitlines(keepends=True)
    for one in reversed(replacements):
        region = one["deletedRegion"]
        assert region["startColumn"] == region["endColumn"] == 1
        lines[region["startLine"] - 1 : region["endLine"] - 1] = [one["insertedContent"]["text"]]
    return "".join(lines)
