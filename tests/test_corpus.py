"""The corpus: every bug is repaired as its `after.py` says, and every clean program is left alone."""

import ast
import difflib
import gc
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from devfix.project.import_graph import DiskFiles
from devfix_codemods.engine import check, rewrite
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Changed, Checked, Clean, Options
from devfix_codemods.project.files import Project
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

CORPUS = Path(__file__).parents[1] / "corpus"
KEYS = {"rule": str, "unsafe": bool, "error": str, "line": int, "source": str}
OPTIONAL_KEYS = {"cpu_fails": bool, "needs": str, "warning": str, "autocast": str, "on": str, "notebook": dict}
"""`cpu_fails`: the program fails without an accelerator too. `needs`: packages without which it cannot run.

`on = "cpu"`: the bug shows only where there is no accelerator; with one, the program runs before and after.

A program that runs in spite of its bug, with no `error`, says how the bug shows at its line: by a `warning` of torch,
or by what `autocast` is given there, which releases before 2.4 refuse. `notebook`: the cell and line of the error where
the program is run as a notebook.
"""


@dataclass(frozen=True)
class Case:
    folder: Path

    @cached_property
    def about(self) -> dict[str, Any]:
        return tomllib.loads((self.folder / "case.toml").read_text(encoding="utf-8"))

    @property
    def before(self) -> Path:
        return self.folder / "before.py"

    @property
    def after(self) -> Path:
        return self.folder / "after.py"

    def __str__(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"


CASES = [Case(path.parent) for path in sorted(CORPUS.glob("*/*/case.toml"))]
GROUPS = sorted({case.folder.parent.name for case in CASES})
CLEAN = sorted((CORPUS / "clean").glob("*.py"))
PARTS = 2
"""In how many interpreters the programs are run, each of which imports torch once."""

each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_clean_program = pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)


def options(unsafe: bool) -> Options:
    return Options(select=frozenset(rule.code for rule in all_rules()), unsafe=unsafe)


def source_of(path: Path) -> Source:
    return Source(str(path), path.read_bytes())


def project_of(case: Case) -> Project:
    """The files beside a program are its project."""
    return Project(DiskFiles(str(case.folder)))


def difference(expected: bytes, actual: bytes) -> str:
    lines = [data.decode().splitlines(keepends=True) for data in (expected, actual)]
    return "".join(difflib.unified_diff(*lines, "expected", "devfix", n=1))


def needs(path: Path) -> str:
    """The packages, by commas, that the program at `path` cannot run without."""
    match = re.match(r"# needs: (.+)\n", path.read_text(encoding="utf-8"))
    return match[1] if match else ""


def installed(packages: str) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in packages.replace(",", " ").split())


# The folders


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_rule_has_cases(rule: Any) -> None:
    cases = [case for case in CASES if case.folder.parent.name == f"{rule.code}-{rule.name}"]
    assert len(cases) >= 5
    assert {case.about["rule"] for case in cases} == {rule.code}


def test_folders_hold_nothing_else() -> None:
    folders = {path.parent for path in CORPUS.glob("*/*/*.py")}
    assert folders == {case.folder for case in CASES}
    assert {path.name for path in CORPUS.iterdir() if path.is_dir()} == {*GROUPS, "clean"}
    assert len(CLEAN) >= 30


@each_case
def test_case_is_well_formed(case: Case) -> None:
    about = case.about
    assert KEYS.keys() <= about.keys() <= {*KEYS, *OPTIONAL_KEYS}
    for key, value in about.items():
        assert type(value) is {**KEYS, **OPTIONAL_KEYS}[key], key
    before, after = case.before.read_text(encoding="utf-8"), case.after.read_text(encoding="utf-8")
    ast.parse(before)
    ast.parse(after)
    assert before != after
    assert before.splitlines()[about["line"] - 1].strip()
    assert about["source"]
    assert [bool(about.get(key)) for key in ("error", "warning", "autocast")].count(True) == 1
    assert about.get("on", "cpu") == "cpu"


@pytest.mark.parametrize("path", sorted(CORPUS.rglob("*.ipynb")), ids=lambda path: path.parent.name)
def test_notebook_is_well_formed(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert any(cell["outputs"] for cell in cells)
    for cell in notebook["cells"]:
        assert isinstance(cell["source"], list)
    ast.parse("\n".join(line for cell in cells for line in "".join(cell["source"]).split("\n") if line[:1] != "%"))


# What devfix makes of them


@each_case
def test_before_becomes_after(case: Case) -> None:
    outcome = rewrite(source_of(case.before), options(case.about["unsafe"]), project=project_of(case))
    assert isinstance(outcome, Changed), outcome
    expected = case.after.read_bytes()
    assert outcome.data == expected, difference(expected, outcome.data)
    assert case.about["rule"] in {finding.code for finding in outcome.fixed}
    assert outcome.left == ()


@pytest.mark.parametrize("case", [case for case in CASES if case.about["unsafe"]], ids=str)
def test_unsafe_fix_says_so(case: Case) -> None:
    checked = check(source_of(case.before), options(unsafe=False), project=project_of(case))
    assert isinstance(checked, Checked), checked
    fixes = [finding.fix for finding in checked.findings if finding.code == case.about["rule"]]
    assert any(fix is not None and fix.safety is Safety.UNSAFE for fix in fixes)


@each_case
@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
def test_after_stays(case: Case, unsafe: bool) -> None:
    outcome = rewrite(source_of(case.after), options(unsafe), project=project_of(case))
    if isinstance(outcome, Changed):
        pytest.fail(difference(case.after.read_bytes(), outcome.data))
    assert outcome == Clean()


@each_clean_program
@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
def test_clean_program_stays(path: Path, unsafe: bool) -> None:
    source = Source(path.name, path.read_bytes())
    assert check(source, options(unsafe)) == Checked(())
    outcome = rewrite(source, options(unsafe))
    if isinstance(outcome, Changed):
        pytest.fail(difference(source.data, outcome.data))
    assert outcome == Clean()


@pytest.mark.parametrize("before", sorted(CORPUS.rglob("before.ipynb")), ids=lambda path: path.parent.name)
def test_notebook_is_repaired_in_its_cells(before: Path) -> None:
    outcome = rewrite(Source(before.name, before.read_bytes()), options(unsafe=False))
    assert isinstance(outcome, Changed), outcome
    expected = before.with_name("after.ipynb").read_bytes()
    assert outcome.data == expected, difference(expected, outcome.data)
    assert outcome.left == ()
    assert rewrite(Source(before.name, expected), options(unsafe=True)) == Clean()


# What they do without an accelerator


def run(paths: list[Path], seconds: float) -> dict[Path, dict[str, Any]]:
    """What the programs did, all in one interpreter that sees no accelerator."""
    if not installed("torch"):
        pytest.skip("torch is not installed")
    command = [sys.executable, str(CORPUS / "run.py"), *map(str, paths)]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment, check=False)
    results = {Path(result["path"]): result for result in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 0, done.stderr
    return results


def errors_of(case: Case) -> tuple[str, ...]:
    """The messages by which the bug may show: without CUDA, a torch that is built for it says something else."""
    import torch

    built_for_cuda = "on" in case.about and torch.version.cuda is not None
    return (case.about["error"], *(("No CUDA GPUs are available", "Found no NVIDIA driver") if built_for_cuda else ()))


@pytest.mark.slow
def test_what_is_forgotten_holds_no_cycles() -> None:
    """Workers do not collect them: each would keep its files in memory for thousands of others."""
    project = Project(DiskFiles(str(CORPUS)), room=0)
    options = Options(frozenset(rule.code for rule in all_rules()), unsafe=True)
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for path in (*CLEAN, *(case.before for case in CASES)):
            check(Source(str(path), path.read_bytes()), options, project)
        gc.collect()
        kept = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not {name: times for name, times in kept.items() if name.startswith(("ast.", "devfix"))}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_programs_run_on_the_host(part: int) -> None:
    cases = [case for case in CASES[part::PARTS] if installed(case.about.get("needs", ""))]
    clean = [path for path in CLEAN[part::PARTS] if installed(needs(path))]
    results = run([path for case in cases for path in (case.before, case.after)] + clean, 120 + 10 * len(cases))
    for case in cases:
        check_case(case, results[case.before.resolve()], results[case.after.resolve()])
    for path in clean:
        result = results[path.resolve()]
        assert result["error"] is None, f"{path}: {result['error']}"
        assert re.search(r"loss -?\d", result["output"].splitlines()[-1]), path


def check_case(case: Case, before: dict[str, Any], after: dict[str, Any]) -> None:
    assert after["error"] is None, f"{case.after}: {after['error']}"
    assert re.search(r"^loss -?\d", after["output"].splitlines()[-1]), case
    if case.about.get("cpu_fails", False) or "on" in case.about:
        assert before["error"] is not None, f"{case.before} runs without an accelerator"
        assert any(text in before["error"] for text in errors_of(case)), (case, before["error"])
        assert before["line"] == case.about["line"], case
    else:
        assert before["error"] is None, f"{case.before}: {before['error']}"
        assert before["output"] == after["output"], case
