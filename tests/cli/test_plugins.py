"""Rules of others: what a broken one must not do, and that a good one is a rule like any other."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from devfix.analysis import pool

from .conftest import Devfix, announce, commit, install

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "acme-rules"
CODE = "import torch\nx = torch.zeros(3).to(0)\n"
MODULE = """
from devfix_codemods.rules import Rule
RULE = Rule({code!r}, {name!r}, {triggers}, lambda program: {found})
"""

Install = Callable[..., Path]


def rule(code: str = "OTHER101", name: str = "other-rule", triggers: str = '((b"torch",),)', found: str = "()") -> str:
    return MODULE.format(code=code, name=name, triggers=triggers, found=found)


@pytest.fixture
def acme(site: Path) -> Path:
    """The worked example of the documentation, installed."""
    shutil.copytree(EXAMPLE / "acme_rules", site / "acme_rules", ignore=shutil.ignore_patterns("__pycache__"))
    announce(site, "acme-rules", "acme_rules.device_by_number")
    return site / "acme_rules" / "device_by_number.py"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("raise ValueError('two\\nlines')", "ValueError: two lines"),
        ("RULE = 1", "it is neither a module with a RULE nor a Rule"),
        (rule("DVF999"), "DVF999: codes with DVF are devfix's own; take another prefix"),
        (rule("DVF101"), "the code 'DVF101' is taken by DVF101 batch-not-moved"),
        (rule(name="batch-not-moved"), "the name 'batch-not-moved' is taken by DVF101 batch-not-moved"),
        (rule("other"), "'other' is no code"),
        (rule("O101"), "'O101' is no code"),
        (rule(name="Other Rule"), "OTHER101: 'Other Rule' is no name"),
        (rule(name="all"), "OTHER101: 'all' is no name"),
        (rule(triggers='(b"torch",)'), "OTHER101: triggers are tuples of byte strings"),
        (rule(triggers='(("torch",),)'), "OTHER101: triggers are tuples of byte strings"),
        (rule(triggers="((),)"), "OTHER101: triggers are tuples of byte strings"),
    ],
)
def test_a_broken_one_is_one_line(site: Path, tree: Path, devfix: Devfix, text: str, reason: str) -> None:
    install(site, text)
    (tree / "a.py").write_text(CODE)
    for command in (["check"], ["rewrite", "--diff"], ["rules"], ["rule", "DVF101"], ["server"]):
        ran = devfix(*command)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"devfix: error: the plug-in other 1.0 (plug_other) does not work: {reason}")
        assert ran.err.endswith("; remove it, or run with --isolated\n")
        assert ran.err.count("\n") == 1
    assert devfix("check", "--isolated").code == 0


@pytest.mark.parametrize("other", [rule(name="third-rule"), rule("OTHER102")])
def test_two_of_one_code_or_name_are_refused(site: Path, tree: Path, devfix: Devfix, other: str) -> None:
    install(site, rule())
    install(site, other, "third")
    ran = devfix("check")
    assert ran.code == 2
    assert "the plug-in third 1.0 (plug_third) does not work: the " in ran.err
    assert "is taken by OTHER101 other-rule" in ran.err


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ("1 / 0", "OTHER101 other-rule raised ZeroDivisionError: division by zero"),
        ("None", "OTHER101 other-rule raised TypeError: 'NoneType' object is not iterable"),
        ("[1]", "OTHER101 other-rule raised TypeError: it finds 1, which is no Finding"),
    ],
)
def test_one_that_raises_is_named(site: Path, tree: Path, devfix: Devfix, found: str, reason: str) -> None:
    install(site, rule(found=found))
    (tree / "a.py").write_text(CODE)
    ran = devfix("check")
    assert ran.code == 2
    assert f"{reason}; this is a bug of the rule OTHER101" in ran.err
    assert "defect of devfix" not in ran.err


def test_nothing_finds_under_the_code_of_another(site: Path, tree: Path, devfix: Devfix) -> None:
    stranger = 'Finding("DVF101", "batch-not-moved", "m", Span(1, 0, 1, 1))'
    imports = "from devfix_codemods.findings import Finding\nfrom devfix_codemods.source import Span\n"
    install(site, imports + rule(found=f"[{stranger}]"))
    (tree / "a.py").write_text(CODE)
    ran = devfix("check")
    assert (ran.code, ran.out.count("DVF101")) == (2, 0)
    assert "it finds something as DVF101 batch-not-moved" in ran.err


@pytest.mark.usefixtures("acme")
class TestAGoodOne:
    def test_it_is_listed_and_explained(self, devfix: Devfix) -> None:
        assert "ACME101 device-by-number" in devfix("rules").out
        listed = {one["code"]: one["plugin"] for one in devfix("rules", "--output-format", "json").json["rules"]}
        assert listed["ACME101"] == "acme-rules 1.0"
        assert listed["DVF101"] is None
        page = devfix("rule", "acme101").out
        assert page.startswith("ACME101 device-by-number (acme-rules 1.0)\n\nA device that is only a number.\n")

    def test_it_finds_and_repairs(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(CODE)
        ran = devfix("check")
        assert (ran.code, ran.err) == (1, "")
        assert ran.out.startswith("a.py:2:5: ACME101 device-by-number: the device is only a number, 0\n")
        assert devfix("rewrite", "--unsafe", "--allow-dirty").code == 0
        assert (tree / "a.py").read_text() == CODE.replace(".to(0)", '.to("cuda:0")')

    @pytest.mark.parametrize("selector", ["ACME101", "acme1", "ACME", "device-by-number"])
    def test_it_is_selected_and_ignored(self, tree: Path, devfix: Devfix, selector: str) -> None:
        (tree / "a.py").write_text(CODE)
        assert "ACME101" in devfix("check", "--select", selector).out
        assert devfix("check", "--ignore", selector).code == 0
        (tree / "pyproject.toml").write_text(f'[tool.devfix]\nper-file-ignores = {{ "a.py" = ["{selector}"] }}\n')
        assert devfix("check").code == 0

    def test_a_prefix_is_whole(self, devfix: Devfix) -> None:
        ran = devfix("check", "--select", "ACM")
        assert (ran.code, ran.err.count("no rule 'ACM'")) == (2, 1)

    def test_comments_know_it(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(CODE.replace(".to(0)", ".to(0)  # devfix: ignore[ACME101]"))
        assert devfix("check").code == 0
        (tree / "a.py").write_text("import torch  # devfix: ignore[ACME101, ACME102]\n")
        out = devfix("check").out
        assert "unused ignore: ACME101 is not found on this line" in out
        assert "unused ignore: there is no rule ACME102" in out

    def test_documents_know_it(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(CODE)
        sarif = devfix("check", "--output-format", "sarif").json["runs"][0]
        assert [one["ruleId"] for one in sarif["results"]] == ["ACME101"]
        assert "ACME101" in [one["id"] for one in sarif["tool"]["driver"]["rules"]]
        assert devfix("report", "--output-file", "r.html").code in (0, 1)
        assert "ACME101" in (tree / "r.html").read_text()

    def test_isolated_runs_know_nothing_of_it(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(CODE + "y = 1  # devfix: ignore[ACME101]\n")
        assert devfix("check").code == 1
        ran = devfix("check", "--isolated")
        assert (ran.code, ran.err) == (0, "")
        assert devfix("check", "--isolated", "--select", "ACME101").code == 2
        assert devfix("check").code == 1

    def test_workers_that_are_no_forks_load_it(
        self, tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pool, "forks", lambda: False)
        for number in range(3):
            (tree / f"{number}.py").write_text(CODE)
        ran = devfix("check", "--no-cache", "--jobs", "2")
        assert (ran.code, ran.err, ran.out.count("ACME101")) == (1, "", 3)

    def test_baseline(self, tree: Path, devfix: Devfix) -> None:
        (tree / "a.py").write_text(CODE)
        assert devfix("baseline").code == 0
        assert devfix("check", "--baseline", "devfix-baseline.json").code == 0


def test_a_changed_rule_is_asked_again(acme: Path, repository: Path) -> None:
    """What earlier runs found was found by the rule as it was."""
    file = repository / "a.py"
    file.write_text(CODE)
    commit(repository)
    for path in (file, acme):
        os.utime(path, (time.time() - 60, time.time() - 60))

    def message() -> str:
        command = [sys.executable, "-m", "devfix", "check", "--output-format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return json.loads(done.stdout)["findings"][0]["message"]

    assert message() == "the device is only a number, 0"
    acme.write_text(acme.read_text().replace("only a number", "just a number"))
    assert message() == "the device is just a number, 0"


def test_without_plugins_nothing_is_imported_for_them(site: Path) -> None:
    command = "import sys; from devfix.rules import plugins; plugins.load(); print('importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_rule_object_can_be_named(site: Path, devfix: Devfix) -> None:
    (site / "many.py").write_text(f'"""A page."""\n{rule()}\nSECOND = RULE\n')
    announce(site, "many", "many:SECOND")
    assert devfix("rule", "OTHER101").out == "OTHER101 other-rule (many 1.0)\n\nA page.\n"
