"""The hooks of `.pre-commit-hooks.yaml`, run by the real pre-commit over a real repository.

pre-commit would install devfix into an environment of its own. Here its hooks run the devfix that is tested: the same
entries and the same filters, as hooks of the repository itself.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from .conftest import commit, git

pytestmark = pytest.mark.slow

TOP = Path(__file__).parents[2]
CORPUS = TOP / "corpus" / "DVF101-batch-not-moved" / "classifier-labels"
BUGGY, FIXED = (CORPUS / "before.py").read_text(), (CORPUS / "after.py").read_text()
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text())}


def pre_commit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pre_commit", *arguments]
    identity = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **identity})


@pytest.fixture
def project(repository: Path, request: pytest.FixtureRequest) -> Path:
    """A repository with one hook, the one that the test names, and a first commit."""
    hook = HOOKS[request.param]
    command, _, rest = hook["entry"].partition(" ")
    assert command == "devfix"
    here = {**hook, "language": "system", "entry": f"{sys.executable} -m devfix {rest}"}
    config = {"repos": [{"repo": "local", "hooks": [here]}]}
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    (repository / "pyproject.toml").write_text('[tool.devfix]\nexclude = ["old.py"]\n')
    commit(repository)
    return repository


def test_the_manifest_is_one(tree: Path) -> None:
    ran = pre_commit(tree, "validate-manifest", str(TOP / ".pre-commit-hooks.yaml"))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert set(HOOKS) == {"devfix", "devfix-rewrite"}


@pytest.mark.parametrize("project", ["devfix"], indirect=True)
def test_check_refuses_a_commit_with_a_bug_and_sees_what_is_staged(project: Path) -> None:
    (project / "train.py").write_text(BUGGY)
    (project / "old.py").write_text(BUGGY)
    (project / "notes.txt").write_text("import torch\n")
    git(project, "add", "-A")
    (project / "train.py").write_text(FIXED)  # not staged: the commit would still hold the bug
    ran = pre_commit(project, "run")
    assert ran.returncode == 1
    assert "train.py:21:16: DVF101" in ran.stdout
    assert "Found 1 bug in 1 file (1 file checked)" in ran.stdout
    assert (project / "train.py").read_text() == FIXED
    git(project, "add", "-A")
    ran = pre_commit(project, "run")
    assert (ran.returncode, "Passed" in ran.stdout) == (0, True)


@pytest.mark.parametrize("project", ["devfix"], indirect=True)
def test_notebooks_are_looked_at_too(project: Path) -> None:
    (project / "train.ipynb").write_text(notebook(BUGGY))
    git(project, "add", "-A")
    ran = pre_commit(project, "run")
    assert ran.returncode == 1
    assert "train.ipynb:cell 1:21:16: DVF101" in ran.stdout


@pytest.mark.parametrize("project", ["devfix-rewrite"], indirect=True)
def test_rewrite_repairs_what_is_staged_and_loses_nothing_that_is_not(project: Path) -> None:
    (project / "train.py").write_text(BUGGY)
    (project / "other.py").write_text("x = 1\n")
    git(project, "add", "-A")
    (project / "other.py").write_text("x = 2  # unstaged work\n")
    ran = pre_commit(project, "run")
    assert ran.returncode == 1
    assert "files were modified by this hook" in ran.stdout
    assert (project / "train.py").read_text() == FIXED
    assert (project / "other.py").read_text() == "x = 2  # unstaged work\n"
    assert git(project, "show", ":train.py") == BUGGY
    git(project, "add", "train.py")
    assert pre_commit(project, "run").returncode == 0
    assert git(project, "show", ":train.py") == FIXED


@pytest.mark.parametrize("project", ["devfix-rewrite"], indirect=True)
def test_unstaged_work_in_the_file_that_is_repaired_comes_back_whole(project: Path) -> None:
    (project / "train.py").write_text(BUGGY)
    git(project, "add", "-A")
    mine = BUGGY.replace("loss = criterion(model(x), y)", "loss = criterion(model(x), y.float())")
    (project / "train.py").write_text(mine)
    assert pre_commit(project, "run").returncode == 1
    assert (project / "train.py").read_text() == mine
    assert git(project, "show", ":train.py") == BUGGY


def notebook(code: str) -> str:
    cell = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": code.splitlines(True),
    }
    metadata = {"language_info": {"name": "python"}, "kernelspec": {"name": "python3", "display_name": "Python 3"}}
    return json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})
