"""What devfix makes of proven programs: whether it finds the bug, repairs it, and what the repaired program does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from variation.cases import RIGHT, WRONG, Case
from variation.proving import Machine

NEAR = 3
"""How many lines a finding may stand away from the missing move, or from where the program fails."""

PORTABILITY = frozenset({"DVF501", "DVF502"})
"""Findings of these rules are true of a shape that names CUDA without a condition, with the bug and without."""

REPAIRED = "repaired"


@dataclass(frozen=True)
class Finding:
    """A finding of `devfix check`: its code, and the lines that it speaks of: its own, its trail's, its edits'.

    A line is the name of a file and a number.
    """

    code: str
    lines: frozenset[tuple[str, int]]


@dataclass(frozen=True)
class Row:
    """What became of a case.

    `codes` are those of the findings near the bug, `alarms` those of the findings in the correct twin, `error` what the
    repaired program does instead of passing. None of them is of `PORTABILITY`.
    """

    case: Case
    codes: tuple[str, ...]
    alarms: tuple[str, ...]
    is_repaired: bool
    error: str

    @property
    def is_found(self) -> bool:
        return bool(self.codes)

    @property
    def passes(self) -> bool:
        return self.is_repaired and not self.error


def measure(top: Path, cases: Sequence[Case], devfix: Sequence[str]) -> list[Row]:
    """A row for each of the cases below `top`."""
    wrong, right = (check(top / folder, devfix) for folder in (WRONG, RIGHT))
    rewrite(top, devfix)
    rows: list[Row] = []
    with Machine(top, simulated=True) as simulated, Machine(top, simulated=False) as plain:
        for case in cases:
            is_repaired = _texts(top / REPAIRED / case.folder) != _texts(top / WRONG / case.folder)
            script = top / REPAIRED / case.folder / "main.py"
            error = simulated.run(script)[0].error if is_repaired else case.error
            if is_repaired and not error and case.is_portable and (error := plain.run(script)[0].error):
                error = f"on the plain CPU: {error}"
            codes = tuple(sorted(one.code for one in wrong[case.folder] if _is_near(one, case)))
            alarms = tuple(sorted(one.code for one in right[case.folder]))
            rows.append(Row(case, codes, alarms, is_repaired, error))
    return rows


def _is_near(finding: Finding, case: Case) -> bool:
    bug = {(case.file, case.line)} | {(name, line) for name, lines in case.omitted.items() for line in lines}
    return any(name == file and abs(line - other) <= NEAR for name, line in finding.lines for file, other in bug)


def check(folder: Path, devfix: Sequence[str]) -> Mapping[str, list[Finding]]:
    """The findings in the programs of a folder, by program."""
    command = [*devfix, "check", "--output-format", "json", "--no-cache", "--quiet"]
    if "--suggestions" in _run([*devfix, "check", "--help"], folder):
        command.append("--suggestions")
    told = json.loads(_run([*command, "."], folder))
    for error in told["errors"]:
        print(f"{folder.name}/{error['path']}: {error['reason']}", file=sys.stderr)
    found: dict[str, list[Finding]] = defaultdict(list)
    for one in told["findings"]:
        path = Path(one["path"])
        if one["code"] not in PORTABILITY:
            edits = one["fix"]["edits"] if one["fix"] else []
            lines = {(path.name, place["line"]) for place in (one, *edits)}
            lines |= {(Path(step["path"]).name, step["line"]) for step in one["trail"]}
            found[path.parts[0]].append(Finding(one["code"], frozenset(lines)))
    return found


def rewrite(top: Path, devfix: Sequence[str]) -> None:
    """Let devfix repair a copy of the wrong programs."""
    shutil.rmtree(top / REPAIRED, ignore_errors=True)
    shutil.copytree(top / WRONG, top / REPAIRED, ignore=shutil.ignore_patterns("*.pt"))
    _run([*devfix, "rewrite", "--unsafe", "--allow-dirty", "--no-cache", "--quiet", "."], top / REPAIRED)


def _run(command: Sequence[str], folder: Path) -> str:
    """What a command of devfix prints. Its memory of runs stays in the folder above."""
    environment = {**os.environ, "COLUMNS": "200", "XDG_STATE_HOME": str(folder.parent / "state")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1, 2} or (done.returncode == 2 and not done.stdout):
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    if done.returncode == 2:
        print(done.stderr.strip(), file=sys.stderr)
    return done.stdout


def _texts(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.py")}
