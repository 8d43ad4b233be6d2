"""The oldest torch that a project admits."""

import tomllib

import pytest
from devfix.requirement import (
    torch_of_line,
    torch_of_pyproject,
    torch_of_requirements,
    torch_of_setup_cfg,
    torch_of_setup_py,
)


@pytest.mark.parametrize(
    "line",
    [
        "torch",
        "torchvision>=0.15",
        "torch-geometric>=2.1",
        "pytorch>=2.1",
        "torch<3",
        "# torch>=2.4",
        "-r torch.txt",
        "torch @ https://example.org/torch-2.4.whl",
        "",
        "torch; python_version >= '3.11'",
    ],
)
def test_no_lower_bound(line: str) -> None:
    assert torch_of_line(line) is None


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("torch>=2.4", (2, 4)),
        ("torch >= 2.4, < 3", (2, 4)),
        ("torch==2.1.0+cu118", (2, 1)),
        ("torch~=2.3", (2, 3)),
        ("torch===2.6.0", (2, 6)),
        ("torch[opt]>=2.5 ; sys_platform == 'linux' and python_version >= '3.13'", (2, 5)),
        ("torch (>=2.2)", (2, 2)),
        ("torch>=2", (2, 0)),
        ("TORCH>=1.13", (1, 13)),
        ("torch>2.2,!=2.3.1", (2, 2)),
        ("torch>=2.10", (2, 10)),
        ("torch ^2.3", (2, 3)),
        ("torch>=2.4  # for amp", (2, 4)),
    ],
)
def test_lower_bounds(line: str, version: tuple[int, int]) -> None:
    assert torch_of_line(line) == version


@pytest.mark.parametrize(
    "document",
    [
        '[project]\ndependencies = ["torch>=2.4"]',
        '[project.optional-dependencies]\ngpu = ["numpy", "torch>=2.4"]',
        '[tool.poetry.dependencies]\ntorch = "^2.4"',
        '[tool.poetry.dependencies]\ntorch = {version = ">=2.4", source = "pytorch"}',
    ],
)
def test_places_in_a_pyproject(document: str) -> None:
    assert torch_of_pyproject(tomllib.loads(document)) == (2, 4)


@pytest.mark.parametrize(
    "document", ["", "project = 1", "[project]\ndependencies = 1", "[tool.poetry]\ndependencies = 1"]
)
def test_pyprojects_without_torch(document: str) -> None:
    assert torch_of_pyproject(tomllib.loads(document)) is None


def test_requirements() -> None:
    assert torch_of_requirements("numpy\ntorchvision>=0.1\ntorch==2.3.1\n") == (2, 3)
    assert torch_of_requirements("numpy\n") is None


def test_setup_cfg() -> None:
    assert torch_of_setup_cfg("[options]\ninstall_requires =\n    numpy\n    torch>=1.13\n") == (1, 13)
    assert torch_of_setup_cfg("[metadata]\nname = torch\n") is None
    assert torch_of_setup_cfg("not a table\n") is None


def test_setup_py_is_read_not_run() -> None:
    assert torch_of_setup_py('raise SystemExit\nsetup(install_requires=["numpy", "torch>=1.10"])') == (1, 10)
    assert torch_of_setup_py('setup(name="torch-thing", description="torch>=2 is nice\\nreally")') is None
    assert torch_of_setup_py("setup(") is None
