"""The oldest torch that a project admits."""

import pytest
from devfix.project.requirements.torch_versions import (
    torch_of_environment,
    torch_of_line,
    torch_of_lock,
    torch_of_pipfile,
    torch_of_pipfile_lock,
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
        "torch_scatter==2.1",
        "torch.audio==2.1",
        "pytorch>=2.1",
        "torch<3",
        "torch!=2.0.0",
        "# torch>=2.4",
        "-r torch.txt",
        "torch @ https://example.org/torch-2.4.whl",
        "torch is nice",
        "",
        "torch; python_version >= '3.11'",
    ],
)
def test_nothing_is_said(line: str) -> None:
    assert torch_of_line(line) is None


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("torch>=2.4", (2, 4)),
        ("torch >= 2.4, < 3", (2, 4)),
        ("torch==2.1.0+cu118", (2, 1)),
        ("torch~=2.3", (2, 3)),
        ("torch~=2.3.1", (2, 3)),
        ("torch===2.6.0", (2, 6)),
        ("torch[opt]>=2.5 ; sys_platform == 'linux' and python_version >= '3.13'", (2, 5)),
        ("torch (>=2.2)", (2, 2)),
        ("torch>=2", (2, 0)),
        ("TORCH>=1.13", (1, 13)),
        ("torch>2.2,!=2.3.1", (2, 2)),
        ("torch>=2.10", (2, 10)),
        ("torch>=2.99", (2, 99)),
        ("torch==2.6.0.dev20241201", (2, 6)),
        ("torch ^2.3", (2, 3)),
        ("torch>=2.4  # for amp", (2, 4)),
        ("torch==2.1.2 \\", (2, 1)),
        ("torch==2.1.2 --hash=sha256:00", (2, 1)),
    ],
)
def test_lower_bounds(line: str, version: tuple[int, int]) -> None:
    assert torch_of_line(line) == version


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("torch<2.0", (1, 0)),
        ("torch<=1.13.1", (1, 0)),
        ("torch==1.13.*", (1, 13)),
        ("torch==2.*", (2, 0)),
        ("torch>=1.8,<2", (1, 8)),
        ("torch<2,!=1.0.*", (1, 1)),
        ("torch<2.4,>2.1.7", (2, 2)),
    ],
)
def test_an_upper_pin_admits_the_releases_below_it(line: str, version: tuple[int, int]) -> None:
    assert torch_of_line(line) == version


@pytest.mark.parametrize(
    "document",
    [
        '[project]\ndependencies = ["torch>=2.4"]',
        '[project.optional-dependencies]\ngpu = ["numpy", "torch>=2.4"]',
        '[dependency-groups]\ntest = [{include-group = "gpu"}]\ngpu = ["torch>=2.4"]',
        '[tool.poetry.dependencies]\ntorch = "^2.4"',
        '[tool.poetry.dependencies]\ntorch = "2.4.1"',
        '[tool.poetry.dependencies]\ntorch = "~2.4"',
        '[tool.poetry.dependencies]\ntorch = ">=2.4,<2.6 || ^2.8"',
        '[tool.poetry.dependencies]\ntorch = {version = ">=2.4", source = "pytorch"}',
        '[tool.poetry.dependencies]\ntorch = [{version = "2.5.*", markers = "a"}, {version = "2.4.*", markers = "b"}]',
        '[tool.poetry.group.gpu.dependencies]\ntorch = "^2.4"',
        "[project]\ndependencies = [\"torch>=2.6; python_version>='3.13'\", \"torch>=2.4; python_version<'3.13'\"]",
        '[project]\ndependencies = ["torch"]\n[project.optional-dependencies]\nnew = ["torch>=2.4"]',
    ],
)
def test_places_in_a_pyproject(document: str) -> None:
    assert torch_of_pyproject(document) == (2, 4)


@pytest.mark.parametrize(
    "document",
    [
        "",
        "[",
        "project = 1",
        "[project]\ndependencies = 1",
        "[tool.poetry]\ndependencies = 1",
        '[tool.poetry.dependencies]\ntorch = "*"',
        '[build-system]\nrequires = ["torch==2.4"]',
    ],
)
def test_pyprojects_without_torch(document: str) -> None:
    assert torch_of_pyproject(document) is None


def test_requirements() -> None:
    assert torch_of_requirements("numpy\ntorchvision>=0.1\ntorch==2.3.1\n") == (2, 3)
    assert torch_of_requirements("numpy\n") is None


def test_what_requirements_include() -> None:
    files = {
        "base.txt": "-r deep/more.txt\nnumpy\n",
        "deep/more.txt": "-r ../base.txt\n--requirement torch.txt\n",
        "deep/torch.txt": "torch>=1.12\n",
        "pins.txt": "torch==2.2.0\n",
    }
    assert torch_of_requirements("-r base.txt\n", files.get) == (1, 12)
    assert torch_of_requirements("-r base.txt\n-c pins.txt\n", files.get) == (2, 2)
    assert torch_of_requirements("torch>=2.4\n-c pins.txt\n", files.get) == (2, 4)
    assert torch_of_requirements("torch\n--constraint=pins.txt\n", files.get) == (2, 2)
    assert torch_of_requirements("-r missing.txt\n-r https://example.org/base.txt\n", files.get) is None


def test_setup_cfg() -> None:
    assert torch_of_setup_cfg("[options]\ninstall_requires =\n    numpy\n    torch>=1.13\n") == (1, 13)
    assert torch_of_setup_cfg("[options.extras_require]\ngpu =\n    torch>=1.13\n") == (1, 13)
    assert torch_of_setup_cfg("[metadata]\nname = torch\n") is None
    assert torch_of_setup_cfg("not a table\n") is None


def test_setup_py_is_read_not_run() -> None:
    assert torch_of_setup_py('raise SystemExit\nsetup(install_requires=["numpy", "torch>=1.10"])') == (1, 10)
    assert torch_of_setup_py('setup(name="torch-thing", description="torch>=2 is nice\\nreally")') is None
    assert torch_of_setup_py("setup(") is None


def test_pipfiles() -> None:
    assert torch_of_pipfile('[packages]\ntorch = "==2.1.*"\n') == (2, 1)
    assert torch_of_pipfile('[packages]\ntorch = {version = ">=2.1", index = "torch"}\n') == (2, 1)
    assert torch_of_pipfile('[packages]\ntorch = "*"\n') is None
    assert torch_of_pipfile("[packages\n") is None
    assert torch_of_pipfile_lock('{"default": {"torch": {"version": "==2.1.0+cu118"}}, "develop": {}}') == (2, 1)
    assert torch_of_pipfile_lock('{"default": []}') is None
    assert torch_of_pipfile_lock("{") is None


def test_locks() -> None:
    uv = '[[package]]\nname = "torchvision"\nversion = "0.20"\n\n[[package]]\nname = "torch"\nversion = "2.5.1+cu121"\n'
    assert torch_of_lock(uv) == (2, 5)
    assert torch_of_lock(uv + '[[package]]\nname = "torch"\nversion = "2.2.2"\n') == (2, 2)
    assert torch_of_lock(uv.replace('"torch"', '"other"').replace("\n", "\r\n")) is None
    assert torch_of_lock(uv.replace("\n", "\r\n")) == (2, 5)


@pytest.mark.parametrize(
    "line", ["pytorch=2.1", "pytorch==2.1.0", "pytorch::pytorch=2.1.0=py3.11_0", "'pytorch>=2.1,<2.3'", "torch~=2.1"]
)
def test_conda_environments(line: str) -> None:
    assert torch_of_environment(f"name: x\ndependencies:\n  - python=3.11\n  - pip:\n    - {line}  # fast\n") == (2, 1)


@pytest.mark.parametrize("line", ["pytorch", "pytorch-cuda=11.8", "torchvision=0.15", "pytorch-lightning=2.1", "# x"])
def test_conda_environments_that_say_nothing(line: str) -> None:
    assert torch_of_environment(f"dependencies:\n  - {line}\n") is None


def test_numbers_without_end_say_nothing() -> None:
    version = "2." + "9" * 5000
    assert torch_of_requirements(f"torch>={version}\n") is None
    assert torch_of_pyproject(f'[tool.poetry.dependencies]\ntorch = "^{version}"\n') is None
    assert torch_of_lock(f'name = "torch"\nversion = "{version}"\n') is None
    assert torch_of_environment(f"- pytorch={version}\n") is None


def test_a_conda_environment_is_read_line_by_line() -> None:
    assert torch_of_environment("- pytorch\n- pytorch=2.1\n") == (2, 1)
    assert torch_of_environment("- pip:\n  - torch>=2.1; python_version<'3.12'\n") == (2, 1)


def test_requirements_that_include_themselves_are_read_a_few_times() -> None:
    read: list[str] = []

    def include(name: str) -> str:
        read.append(name)
        return "torch>=2.2\n" + "-r a.txt\n" * 4

    assert torch_of_requirements("-r a.txt\n", include) == (2, 2)
    assert len(read) <= 8
