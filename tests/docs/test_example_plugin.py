"""The worked example of the documentation, installed as its readers install it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "acme-rules"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the example is installed."""
    top = tmp_path_factory.mktemp("acme")
    source = shutil.copytree(EXAMPLE, top / "source", ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--target", str(top / "site"), str(source)], check=True)
    path = os.pathsep.join(filter(None, [str(top / "site"), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(top / "cache")}


def run(environment: dict[str, str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_its_own_tests_pass(installed: dict[str, str], tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "tests" / "test_device_by_number.py", tmp_path)
    done = run(installed, tmp_path, "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".")
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_devfix_has_the_rule(installed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\nx = torch.zeros(3).to(0)\n")
    checked = run(installed, tmp_path, "devfix", "check")
    assert checked.returncode == 1
    assert checked.stdout.startswith("a.py:2:5: ACME101 device-by-number: the device is only a number, 0\n")
    assert "(acme-rules 1.0)" in run(installed, tmp_path, "devfix", "rule", "ACME101").stdout


def test_the_page_shows_the_files_as_they_are() -> None:
    page = (EXAMPLE.parents[1] / "writing-rules.md").read_text(encoding="utf-8")
    for name in ("pyproject.toml", "acme_rules/device_by_number.py", "tests/test_device_by_number.py"):
        assert (EXAMPLE / name).read_text(encoding="utf-8") in page
