"""The corpus on the simulated accelerator: every bug shows as its case declares, and every repair makes it go."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from devfix.replay import Change, Kind, ReplayOptions, ReplayResult, replay_on, run_replays
from devfix.replay.backends import Simulated
from devfix.replay.confinement import find_confinement
from devfix.replay.device_checks import table_file
from devfix.replay.probe import errors
from devfix_codemods.engine import rewrite
from devfix_codemods.outcomes import Changed, Options
from devfix_codemods.source import Source

CORPUS = Path(__file__).parents[1] / "corpus"
PROBE = Path(errors.__file__).parent
CASES = sorted(path.parent for path in CORPUS.glob("*/*/case.toml"))
PARTS = 2
"""Each imports torch once."""
SEEDS = sorted(path.parent for path in CORPUS.glob("seeds/*/case.toml"))

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")]


def about(case: Path) -> dict[str, Any]:
    return tomllib.loads((case / "case.toml").read_text(encoding="utf-8"))


def can_run(case: Path) -> bool:
    return all(find_spec(name) is not None for name in about(case).get("needs", "").replace(",", " ").split())


def checks() -> Path:
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    return table_file(Path(spec.origin).parent, version("torch"))


def run(paths: list[Path]) -> dict[Path, dict[str, Any]]:
    """What the programs did, each in a fork of one interpreter."""
    command = [sys.executable, str(CORPUS / "run.py"), "--simulated", str(PROBE), str(checks()), *map(str, paths)]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "0", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    seconds = 120 + 10 * len(paths)
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    results = {Path(result["path"]): result for result in map(json.loads, done.stdout.splitlines())}
    assert results.keys() == {path.resolve() for path in paths}, done.stderr
    return results


@pytest.mark.parametrize("part", range(PARTS))
def test_every_bug_shows_and_every_repair_makes_it_go(part: int) -> None:
    cases = [case for case in CASES[part::PARTS] if can_run(case)]
    results = run([case / name for case in cases for name in ("before.py", "after.py")])
    wrong = [
        told for case in cases for told in defects(case, *(results[case / f"{n}.py"] for n in ("before", "after")))
    ]
    assert wrong == []


def defects(case: Path, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What a case does otherwise than it declares, in words."""
    told = [
        f"{each['path']} is not simulated: {each['not_simulated']}" for each in (before, after) if each["not_simulated"]
    ]
    if after["error"] is not None or not re.search(r"^loss -?\d", after["output"].splitlines()[-1]):
        told.append(f"after.py of {case} fails: {after['error']}")
    declared = about(case)
    if "on" in declared:
        same = before["output"] == after["output"] and before["error"] is None
        return told if same else [*told, f"before.py of {case} does not run on an accelerator: {before}"]
    shown, gone = facts(before, declared["line"]), facts(after, None)
    for kind in ("error", "warning", "autocast"):
        text = declared.get(kind, "")
        if text and text not in shown[kind]:
            told.append(f"before.py of {case} does not show {text!r} at line {declared['line']}: {before}")
        if text and text in gone[kind]:
            told.append(f"after.py of {case} still shows {text!r}")
    if before["error"] is not None and not declared["error"]:
        told.append(f"before.py of {case} fails: {before['error']}")
    return told


def facts(result: dict[str, Any], line: int | None) -> dict[str, str]:
    """What a run showed at a line, or with None anywhere, by kind."""

    def at(where: int) -> bool:
        return line is None or where == line

    return {
        "error": result["error"] or "" if at(result["line"]) else "",
        "warning": "\n".join(message for _, message, where in result["deprecations"] if at(where)),
        "autocast": "\n".join(given for where, given in result["autocast"] if at(where)),
    }


def replayed(seed: Path, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReplayResult:
    """What a replay says of a program of a seed and its repair."""
    shutil.copytree(seed, tmp_path / "seed", ignore=shutil.ignore_patterns("__pycache__"))
    script = tmp_path / "seed" / f"before{suffix}"
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    change = Change(script, script.read_bytes(), (seed / f"after{suffix}").read_bytes())
    return replay_on(Simulated(checks()), [change], ReplayOptions(python=sys.executable, timeout=120))[0]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
def test_seeds_are_confirmed(seed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = replayed(seed, ".py", tmp_path, monkeypatch)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict
    declared = about(seed)
    if declared["error"]:
        assert result.before is not None
        assert result.before.device_error is not None
        assert declared["error"] in result.before.device_error.message
        assert result.before.postmortem is not None
        frames = [(frame.file, frame.line) for frame in result.before.postmortem.frames]
        assert ("before.py", declared["line"]) in frames
    else:
        assert declared["warning"] in result.verdict.reason


@pytest.mark.skipif(find_spec("IPython") is None, reason="IPython is not installed: pip install 'devfix[notebooks]'")
@pytest.mark.parametrize(
    "seed", [seed for seed in SEEDS if (seed / "before.ipynb").exists()], ids=lambda seed: seed.name
)
def test_notebooks_of_seeds_are_confirmed(seed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = replayed(seed, ".ipynb", tmp_path, monkeypatch)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict
    assert result.before is not None
    assert result.before.device_error is not None
    assert about(seed)["error"] in result.before.device_error.message
    assert result.before.postmortem is not None
    frames = [(frame.file, frame.line) for frame in result.before.postmortem.frames]
    declared = about(seed)["notebook"]
    assert (f"before.ipynb:cell {declared['cell']}", declared["line"]) in frames


def test_a_seed_is_confirmed_in_a_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    confinement = find_confinement(sys.executable)
    if isinstance(confinement, str):
        pytest.skip(confinement)
    shutil.copytree(SEEDS[0], tmp_path / "seed", ignore=shutil.ignore_patterns("__pycache__"))
    script = tmp_path / "seed" / "before.py"
    change = Change(script, script.read_bytes(), (SEEDS[0] / "after.py").read_bytes())
    options = ReplayOptions(on="simulated", python=sys.executable, timeout=120, confinement=confinement)
    (result,) = run_replays([change], options)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict


def test_guards_hold_in_the_repaired_seeds(tmp_path: Path) -> None:
    options = Options(frozenset(), guards=True)
    programs: list[Path] = []
    for case in SEEDS:
        folder = Path(shutil.copytree(case, tmp_path / case.name))
        outcome = rewrite(Source("after.py", (case / "after.py").read_bytes()), options)
        if isinstance(outcome, Changed):
            (folder / "after.py").write_bytes(outcome.data)
            programs.append(folder / "after.py")
    assert len(programs) >= 3
    assert {result["error"] for result in run(programs).values()} == {None}
