"""The GitHub Action: its `run:` steps, as a runner would run them."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

TOP = Path(__file__).parents[2]
ACTION = yaml.safe_load((TOP / "action.yml").read_text())
CORPUS = TOP / "corpus" / "DVF101-batch-not-moved" / "classifier-labels"
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


@dataclass
class Runner:
    """What of GitHub's runner the action needs: expressions in `env:`, a shell that stops at errors, step outputs."""

    action: Path
    temporary: Path
    outputs: dict[str, str] = field(default_factory=dict)

    def step(
        self, step: Mapping[str, Any], workspace: Path, inputs: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        known = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()} | dict(inputs)
        context = {f"inputs.{name}": value for name, value in known.items()}
        context |= {"github.action_path": str(self.action), "runner.temp": str(self.temporary)} | self.outputs
        env = {name: EXPRESSION.sub(lambda found: context[found[1]], text) for name, text in step["env"].items()}
        output, script = self.temporary / "output", self.temporary / "script.sh"
        output.write_text("")
        script.write_text(step["run"])
        assert step["shell"] == "bash"
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=workspace,
            env=os.environ | env | {"GITHUB_OUTPUT": str(output)},
            capture_output=True,
            text=True,
        )
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            self.outputs[f"steps.{step.get('id')}.outputs.{name}"] = value
        return ran


INSTALL, CHECK = ACTION["runs"]["steps"]


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """A runner that has the action checked out."""
    action = tmp_path_factory.mktemp("action")
    for name in ("cli", "codemods"):
        shutil.copytree(TOP / name, action / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "action.yml"):
        shutil.copy(TOP / name, action)
    return Runner(action, tmp_path_factory.mktemp("runner"))


@pytest.fixture(scope="module")
def installed(runner: Runner) -> Runner:
    """The same with devfix installed, without the network: what devfix needs is lent by this interpreter."""
    with pytest.MonkeyPatch.context() as patch:
        lend(patch)
        ran = runner.step(INSTALL, runner.temporary, {})
    assert (ran.returncode, ran.stderr) == (0, "")
    return runner


def lend(patch: pytest.MonkeyPatch) -> None:
    """pip finds nothing but what is already here."""
    patch.setenv("PYTHONPATH", sysconfig.get_path("purelib"))
    patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("PIP_NO_INDEX", "PIP_NO_DEPS", "PIP_IGNORE_INSTALLED"):
        patch.setenv(name, "1")
    patch.setenv("PIP_NO_BUILD_ISOLATION", "0")  # pip reads it as the option `--build-isolation` would be


def check(installed: Runner, workspace: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    with pytest.MonkeyPatch.context() as patch:
        lend(patch)
        return installed.step(CHECK, workspace, {name.replace("_", "-"): value for name, value in inputs.items()})


def test_inputs_reach_the_shell_as_variables_only() -> None:
    assert not any("${{" in step["run"] for step in ACTION["runs"]["steps"])
    used = {
        name for step in ACTION["runs"]["steps"] for text in step["env"].values() for name in EXPRESSION.findall(text)
    }
    assert {name for name in used if name.startswith("inputs.")} == {f"inputs.{name}" for name in ACTION["inputs"]}


def test_the_action_is_one_by_githubs_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml"]
    ran = subprocess.run(command, cwd=TOP, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.slow
def test_what_stands_in_an_input_is_never_run(installed: Runner, tree: Path) -> None:
    (tree / "a b.py").write_text("x = 1\n")
    hostile = '"; touch pwned; "$(touch pwned)`touch pwned`'
    ran = check(installed, tree, paths=f"a b.py\n{hostile}\n-rf", args="--select $(touch${IFS}pwned)")
    assert ran.returncode == 2
    assert sorted(path.name for path in tree.iterdir()) == ["a b.py"]


@pytest.mark.slow
def test_a_version_is_installed_from_the_registry(runner: Runner, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lend(monkeypatch)
    ran = Runner(runner.action, tree).step(INSTALL, tree, {"version": "9.9.9"})
    assert ran.returncode == 1
    assert "devfix==9.9.9" in ran.stderr


@pytest.mark.slow
def test_findings_become_annotations_and_fail_the_job(installed: Runner, tree: Path) -> None:
    (tree / "my code").mkdir()
    shutil.copy(CORPUS / "before.py", tree / "my code" / "train.py")
    (tree / "other.py").write_text("x = 1\n")
    ran = check(installed, tree, paths="other.py\nmy code\n")
    assert ran.returncode == 1
    assert ran.stdout.startswith("::warning ")
    assert "file=my code/train.py,line=21" in ran.stdout
    ran = check(installed, tree, args="--ignore DVF101 --quiet", output_format="text")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.slow
def test_a_sarif_report_is_written_too(installed: Runner, tree: Path) -> None:
    shutil.copy(CORPUS / "before.py", tree / "train.py")
    ran = check(installed, tree, sarif_file="devfix.sarif")
    assert ran.returncode == 1
    assert "::warning" in ran.stdout
    (run,) = json.loads((tree / "devfix.sarif").read_text())["runs"]
    assert [one["ruleId"] for one in run["results"]] == ["DVF101"]
    ran = check(installed, tree, paths="missing.py", sarif_file="devfix.sarif")
    assert ran.returncode == 2
    assert "missing.py" in ran.stderr
