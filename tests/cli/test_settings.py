"""`[tool.devfix]`: whose settings hold, and how each mistake is named."""

import subprocess
import sys
from pathlib import Path

import pytest
from devfix.errors import UsageError
from devfix.project.settings import Overrides, SettingsTree
from devfix.rules.selection import options_of
from devfix_codemods.preferences import Prefer

from .conftest import BUGGY, Devfix

MISTAKES = {
    "unknown = 1": "unknown: is not a setting of devfix",
    'ignores = ["DVF1"]': "ignores: is not a setting of devfix; did you mean 'ignore'?",
    'target_torch = "2.4"': "target_torch: is not a setting of devfix; did you mean 'target-torch'?",
    'select = "DVF1"': "select: expected `array | null`, got `str`",
    'select = ["DVF1", 2]': "select[1]: expected `str`, got `int`",
    'unsafe = "yes"': "unsafe: expected `bool`, got `str`",
    "target-torch = 2.10": "target-torch: expected `str | null`, got `float`",
    'target-torch = "new"': "target-torch: 'new' is no torch version; write it like \"2.4\"",
    'prefer = "tpu"': "prefer: invalid enum value 'tpu'",
    'max-file-size = "big"': "max-file-size: 'big' is no size",
    f'max-file-size = "1{"0" * 5000}"': "max-file-size: '10000",
    "max-file-size = -1": "max-file-size: -1 is no size",
    "jobs = 0": "jobs: must be at least 1, not 0",
    'per-file-ignores = ["x"]': "per-file-ignores: expected `object`, got `array`",
}


def write(folder: Path, table: str) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "pyproject.toml").write_text(table)


@pytest.mark.parametrize(("line", "message"), MISTAKES.items(), ids=MISTAKES.keys())
def test_a_mistake_is_named_with_its_file_and_key(line: str, message: str, tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    write(tree, f"[tool.devfix]\n{line}\n")
    ran = devfix("check")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"devfix: error: {tree}/pyproject.toml: [tool.devfix] {message}")


def test_a_table_that_is_no_table(tree: Path, devfix: Devfix) -> None:
    write(tree, "[tool]\ndevfix = 1\n")
    assert "[tool.devfix] the table: expected `object`, got `int`" in devfix("check").err


def test_a_broken_file_matters_only_if_it_speaks_of_devfix(tree: Path, devfix: Devfix) -> None:
    write(tree, "[tool.other\ntorch\n")
    assert devfix("check").code == 0
    write(tree, "[tool.devfix\n")
    ran = devfix("check")
    assert ran.code == 2
    assert f"{tree}/pyproject.toml: not valid TOML" in ran.err


@pytest.mark.parametrize(
    ("number", "what"), [("9" * 5000, "Exceeds the limit"), ("[" * 100_000, "nested too deeply")], ids=["long", "deep"]
)
def test_what_python_cannot_read_is_no_valid_toml(number: str, what: str, tree: Path, devfix: Devfix) -> None:
    write(tree, f"[tool.other]\nnumber = {number}\n")
    assert devfix("check").code == 0
    write(tree, f"[tool.devfix]\nnumber = {number}\n")
    ran = devfix("check")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert ran.err.startswith(f"devfix: error: {tree}/pyproject.toml: not valid TOML: {what}")


def test_an_unknown_rule_in_a_file_is_named_with_the_file(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    write(tree, '[tool.devfix]\nselect = ["DVF999"]\n')
    ran = devfix("check")
    assert ran.code == 2
    assert f"{tree}/pyproject.toml: [tool.devfix] select: no rule 'DVF999'" in ran.err


def test_the_closest_table_holds(tree: Path) -> None:
    write(tree, '[tool.devfix]\nignore = ["DVF1"]\nunsafe = true\n')
    write(tree / "a", '[tool.devfix]\nignore = ["DVF2"]\n')
    write(tree / "a" / "b", "[tool.other]\n")
    settings = SettingsTree(Overrides())
    assert settings.of(str(tree)).ignore == ("DVF1",)
    assert settings.of(str(tree / "c")).ignore == ("DVF1",)
    for folder in (tree / "a", tree / "a" / "b"):
        assert settings.of(str(folder)).ignore == ("DVF2",)
        assert not settings.of(str(folder)).unsafe


def test_the_command_line_wins(tree: Path) -> None:
    write(
        tree, '[tool.devfix]\nselect = ["DVF2"]\nignore = ["DVF203"]\nunsafe = true\ntarget-torch = "2.1"\njobs = 3\n'
    )
    plain = SettingsTree(Overrides()).of(str(tree))
    assert (plain.select, plain.unsafe, plain.choice.target_torch, plain.jobs) == (("DVF2",), True, (2, 1), 3)
    overrides = Overrides(select=("DVF1",), ignore=("DVF101",), unsafe=False, target_torch=(2, 6), jobs=1)
    settings = SettingsTree(overrides).of(str(tree))
    assert settings.select == ("DVF1",)
    assert settings.ignore == ("DVF203", "DVF101")
    assert (settings.unsafe, settings.choice.target_torch, settings.jobs) == (False, (2, 6), 1)


def test_the_projects_own_torch_is_the_target(tree: Path) -> None:
    write(tree, '[project]\ndependencies = ["numpy", "torch>=2.2,<3"]\n')
    (tree / "sub").mkdir()
    (tree / "sub" / "requirements.txt").write_text("torch==2.5.1\n")
    write(tree / "stated", '[tool.devfix]\ntarget-torch = "2.7"\n[project]\ndependencies = ["torch>=2.3"]\n')
    write(tree / "table", "[tool.devfix]\nunsafe = true\n")
    settings = SettingsTree(Overrides())
    assert settings.of(str(tree)).choice.target_torch == (2, 2)
    assert settings.of(str(tree / "sub")).choice.target_torch == (2, 5)
    assert settings.of(str(tree / "stated")).choice.target_torch == (2, 7)
    assert settings.of(str(tree / "table")).choice.target_torch == (2, 2)
    assert SettingsTree(Overrides(target_torch=(2, 9))).of(str(tree)).choice.target_torch == (2, 9)


@pytest.mark.parametrize(
    ("files", "target"),
    [
        ({}, None),
        ({"setup.py": "import torch\n", "notes.txt": "torch==2.1"}, None),
        ({"requirements.txt": "torch<3\n"}, None),
        ({"requirements.txt": "torch<2.0\n"}, (1, 0)),
        ({"requirements.txt": "torch==1.13.*\n"}, (1, 13)),
        ({"requirements.txt": "-r base.txt\n", "base.txt": "torch>=2.3"}, (2, 3)),
        ({"requirements.txt": "-r ../sub/base.txt\n-c gone.txt", "base.txt": "torch>=2.3"}, (2, 3)),
        ({"requirements-gpu.txt": "torch>=2.3\n", "requirements_cpu.txt": "torch>=2.2\n"}, (2, 2)),
        ({"requirements": "torch==1.13"}, None),
        ({"requirements/notes.md": "torch==1.13", "requirements/base.txt": "numpy"}, None),
        ({"requirements/base.txt": "torch>=2.2\n", "requirements/all.txt": "-r base.txt\n-r ../old.txt"}, (2, 2)),
        ({"requirements/all.txt": "-r ../old.txt\ntorch>=2.2", "old.txt": "torch>=2.1"}, (2, 1)),
        ({"requirements/base.txt": "torch>=2.2\n", "requirements.txt": "torch>=2.3"}, (2, 3)),
        ({"requirements.txt": "torch\n", "uv.lock": 'name = "torch"\nversion = "2.3.0"\n'}, (2, 3)),
        ({"requirements.txt": "torch>=2.1\n", "uv.lock": 'name = "torch"\nversion = "2.3.0"\n'}, (2, 1)),
        ({"requirements.txt": "-rbase.txt\n", "base.txt": "torch>=2.3"}, (2, 3)),
        ({"environment.yml": "dependencies:\n  - pytorch=2.1\n"}, (2, 1)),
        ({"Pipfile": '[packages]\ntorch = ">=2.1"\n', "Pipfile.lock": '{"default": {}, "torch": 1}'}, (2, 1)),
        ({"pyproject.toml": '[dependency-groups]\ndev = ["torch>=2.2"]\n', "setup.py": "'torch>=2.1'"}, (2, 2)),
        ({"setup.py": "setup(python_requires='>=3.7', install_requires=['torch'])\n"}, (1, 13)),
        ({"setup.py": "setup(python_requires='>3.5.2', install_requires=['numpy'])\n"}, (1, 10)),
        ({"setup.py": "REQUIRES_PYTHON = '>=3.6.0'\nsetup(python_requires=REQUIRES_PYTHON)\n"}, (1, 10)),
        ({"setup.cfg": "[options]\npython_requires = >=3.7, <4\n"}, (1, 13)),
        ({"pyproject.toml": '[project]\nrequires-python = "~=3.6"\n'}, (1, 10)),
        ({"pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.7"\n'}, (1, 13)),
        ({"pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.10"\n'}, None),
        ({"pyproject.toml": '[project]\nrequires-python = ">=3.8,!=3.9.0"\n'}, None),
        ({"pyproject.toml": '[project]\nrequires-python = "<4"\n'}, None),
        ({"setup.py": "setup(python_requires='>=3.7', install_requires=['torch>=2.1'])\n"}, (2, 1)),
        ({"setup.py": "setup(python_requires='>=3.7')\n", "requirements.txt": "torch==2.1\n"}, (2, 1)),
        ({"pyproject.toml": "[torch\n", "setup.cfg": "[options]\ninstall_requires = torch>=2.1\n"}, (2, 1)),
        (
            {"pyproject.toml": f"torch = {'9' * 5000}\n", "setup.cfg": "[options]\ninstall_requires = torch>=2.1\n"},
            (2, 1),
        ),
    ],
)
def test_where_a_project_may_say_its_torch(files: dict[str, str], target: tuple[int, int] | None, tree: Path) -> None:
    (tree / "sub").mkdir()
    for name, text in files.items():
        (tree / "sub" / name).parent.mkdir(exist_ok=True)
        (tree / "sub" / name).write_text(text)
    assert SettingsTree(Overrides()).of(str(tree / "sub")).choice.target_torch == target


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "torch>=2.3\r\n"),
        ("requirements.txt", "-r base.txt\r\n"),
        ("setup.cfg", "[options]\r\ninstall_requires =\r\n    torch>=2.3\r\n"),
        ("setup.py", "setup(install_requires=['torch>=2.3'])\r\n"),
    ],
)
def test_a_byte_order_mark_says_how_a_declaration_is_written(name: str, text: str, encoding: str, tree: Path) -> None:
    (tree / name).write_bytes(text.encode(encoding))
    (tree / "base.txt").write_bytes("torch>=2.3\r\n".encode(encoding))
    assert SettingsTree(Overrides()).of(str(tree)).choice.target_torch == (2, 3)


def test_advice_names_the_file_that_says_the_torch(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text("import torch\nscaler = torch.cuda.amp.GradScaler()\n")
    (tree / "requirements.txt").write_text("torch==1.13.*\n")
    assert "needs torch 2.3; the target is torch 1.13 (by requirements.txt)." in devfix("check").out
    assert "needs torch 2.3; the target is torch 2.1." in devfix("check", "--target-torch", "2.1").out
    assert "needs torch" not in devfix("check", "--target-torch", "2.3").out


def test_a_declared_torch_comes_before_what_a_python_implies(tree: Path) -> None:
    write(tree, '[project]\ndependencies = ["torch>=2.2"]\n')
    (tree / "sub").mkdir()
    (tree / "sub" / "setup.py").write_text("setup(python_requires='>=3.6')\n")
    assert SettingsTree(Overrides()).of(str(tree / "sub")).choice.target_torch == (2, 2)


def test_advice_names_the_python_that_implies_the_torch(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text("import torch\nscaler = torch.cuda.amp.GradScaler()\n")
    (tree / "setup.py").write_text("setup(python_requires='>=3.7')\n")
    expected = "needs torch 2.3; the target is torch 1.13 (by setup.py, which admits Python 3.7)."
    assert expected in devfix("check").out


def test_reading_settings_loads_no_parser_of_requirements(tree: Path) -> None:
    write(tree, '[project]\nrequires-python = ">=3.9"\ndependencies = ["numpy"]\n')
    code = (
        "import sys; from devfix.project.settings import Overrides, SettingsTree;"
        "SettingsTree(Overrides()).of(sys.argv[1]);"
        "sys.exit('packaging' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tree)], check=False).returncode == 0


def test_a_named_file_holds_everywhere(tree: Path) -> None:
    write(tree, "[tool.devfix]\nunsafe = true\n")
    (tree / "other.toml").write_text('[tool.devfix]\nmax-file-size = "2KB"\n')
    settings = SettingsTree(Overrides(config="other.toml"))
    assert settings.of(str(tree)).max_file_size == 2000
    assert not settings.of(str(tree)).unsafe
    for name, text in {"no.toml": None, "empty.toml": ""}.items():
        if text is not None:
            (tree / name).write_text(text)
        with pytest.raises(UsageError, match=f"--config {name}: "):
            SettingsTree(Overrides(config=name))


def test_under_a_named_file_a_project_still_declares_its_torch(tree: Path) -> None:
    (tree / "requirements.txt").write_text("torch==2.1.0\n")
    write(tree / "sub", '[tool.devfix]\nunsafe = true\n[project]\ndependencies = ["torch>=2.3"]\n')
    (tree / "other.toml").write_text("[tool.devfix]\n")
    settings = SettingsTree(Overrides(config="other.toml"))
    assert settings.of(str(tree)).choice.target_torch == (2, 1)
    assert settings.of(str(tree / "sub")).choice.target_torch == (2, 3)
    assert not settings.of(str(tree / "sub")).unsafe
    (tree / "other.toml").write_text('[tool.devfix]\ntarget-torch = "2.7"\n')
    assert SettingsTree(Overrides(config="other.toml")).of(str(tree)).choice.target_torch == (2, 7)


def test_what_is_preferred(tree: Path) -> None:
    write(tree, '[tool.devfix]\nprefer = "accelerator"\n')
    write(tree / "sub", "[tool.devfix]\nunsafe = true\n")
    settings = SettingsTree(Overrides())
    assert settings.of(str(tree)).choice.prefer is Prefer.ACCELERATOR
    assert settings.of(str(tree / "sub")).choice.prefer is Prefer.CUDA
    assert SettingsTree(Overrides(prefer=Prefer.CUDA)).of(str(tree)).choice.prefer is Prefer.CUDA
    choices = [settings.of(str(folder)).choice for folder in (tree, tree / "sub")]
    assert [options_of(choice).prefer for choice in choices] == [Prefer.ACCELERATOR, Prefer.CUDA]


def test_isolated_reads_nothing(tree: Path, devfix: Devfix) -> None:
    write(tree, "[tool.devfix]\nnonsense = 1\n")
    assert devfix("check", "--isolated").code == 0
    assert devfix("check", "--isolated", "--config", "x").code == 2


@pytest.mark.parametrize(
    ("text", "size"), [("10", 10), ("2 KB", 2000), ("2KiB", 2048), ("1MB", 10**6), ("3MiB", 3 << 20)]
)
def test_sizes(text: str, size: int, tree: Path) -> None:
    write(tree, f'[tool.devfix]\nmax-file-size = "{text}"\n')
    assert SettingsTree(Overrides()).of(str(tree)).max_file_size == size


@pytest.mark.usefixtures("library")
def test_rules_can_be_ignored_for_some_files(tree: Path, devfix: Devfix) -> None:
    write(tree, '[tool.devfix.per-file-ignores]\n"tests/" = ["DVF1"]\n"conf*.py" = ["batch-not-moved"]\n')
    for name in ("tests/deep/a.py", "sub/conftest.py", "b.py"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(BUGGY)
    found = devfix("check", "--output-format", "json").json["findings"]
    assert [entry["path"] for entry in found] == ["b.py"]
    assert "1 fixed" in devfix("rewrite").out
    assert (tree / "tests/deep/a.py").read_text() == BUGGY
