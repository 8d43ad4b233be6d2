"""What the own tests of real libraries say on the simulated accelerator: `devfix replay --tests` in each checkout.

    python bench/suites.py --python VENV/bin/python CHECKOUT [CHECKOUT::PATH,PATH...] ... [--deletions 5 --seed 0]

The interpreter has pytest and what the libraries need. After `::` stand the tests to run where not all are. Bugs are
listed below the table, to be read.

With `--deletions` so many moves, `device=` and the like (deletions.py) are deleted from the library's packages, one at
a time, and the suite runs again: it reveals a deletion where a device error in the library comes that was not there.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cases import parses
from deletions import LEFT_OUT, Deletion, deletions

_COLUMNS = ("alike", "reveals", "of_tests", "otherwise", "not_simulated", "skipped", "fails_anyway", "not_run")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", nargs="+", metavar="CHECKOUT[::PATHS]")
    parser.add_argument("--python", default=sys.executable, help="The interpreter that runs the tests.")
    parser.add_argument("--timeout", default="600", help="Seconds for each run of a suite.")
    parser.add_argument("--deletions", type=int, default=0, help="So many are made in each library, one at a time.")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("| library | " + " | ".join(name.replace("_", " ") for name in _COLUMNS) + " | bugs |")
    print("|---|" + "---:|" * (len(_COLUMNS) + 1))
    found = []
    for checkout in options.checkouts:
        folder, _, paths = checkout.partition("::")
        suite = _run(Path(folder), paths.split(",") if paths else [], options.python, options.timeout)
        print(_row(Path(folder).name, suite), flush=True)
        found += [(Path(folder).name, bug) for bug in (suite or {}).get("bugs", ())]
        if suite is not None and options.deletions:
            _print_deletions(Path(folder), paths.split(",") if paths else [], suite, options)
    for name, bug in found:
        error = bug["error"]
        print(f"\n{name}: {error['type']} at {error['path']}:{error['line']}: {error['message']}")
        print(f"    {bug['story']}\n    {len(bug['tests'])} tests, {bug['tests'][0]} among them")
    return 0


def _print_deletions(folder: Path, paths: list[str], suite: dict[str, Any], options: argparse.Namespace) -> None:
    """Which of the deletions drawn for a library its suite reveals."""
    known = {_place(bug) for bug in suite["bugs"]}
    revealed = []
    drawn = list(_drawn(folder, options.deletions, random.Random(options.seed)))
    for file, deleted in drawn:
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place) / folder.name
            shutil.copytree(folder, copy, symlinks=True)
            (copy / file).write_bytes(deleted.applied((copy / file).read_bytes()))
            bugs = (_run(copy, paths, options.python, options.timeout) or {}).get("bugs", ())
        new = [bug for bug in bugs if _place(bug) not in known]
        revealed += new[:1]
        told = f"{new[0]['error']['path']}:{new[0]['error']['line']}" if new else "not revealed"
        print(f"    {deleted.kind} at {file}:{deleted.line}: {told}", flush=True)
    print(f"    {len(revealed)} of {len(drawn)} deletions revealed", flush=True)


def _place(bug: dict[str, Any]) -> tuple[str, str]:
    """What tells a bug, also where lines moved."""
    return bug["error"]["path"], bug["error"]["message"]


def _drawn(folder: Path, count: int, chance: random.Random) -> Iterator[tuple[Path, Deletion]]:
    """Deletions from the library's own files, of different ones as long as there are such."""
    own = (file for file in folder.rglob("*.py") if (file.parent / "__init__.py").exists())
    files = sorted(file.relative_to(folder) for file in own if parses(file.read_bytes()))
    found = {file: deletions((folder / file).read_bytes()) for file in files if not LEFT_OUT.search(file.as_posix())}
    left = {file: chance.sample(sites, len(sites)) for file, sites in found.items() if sites}
    for _ in range(count):
        if not left:
            return
        file = chance.choice(sorted(left))
        yield file, left[file].pop()
        if len(left) > 1 or not left[file]:
            left.pop(file)


def _run(folder: Path, paths: list[str], python: str, timeout: str) -> dict[str, Any] | None:
    """The `suite` of the JSON report; None where there is none, which is then told."""
    options = ["--python", python, "--timeout", timeout, "--output-format", "json", "--quiet"]
    command = [sys.executable, "-m", "devfix", "replay", "--tests", *options, *paths]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    try:
        suite: dict[str, Any] = json.loads(done.stdout)["suite"]
    except (ValueError, KeyError):
        print(f"{folder}: {done.stderr.strip()}", file=sys.stderr)
        return None
    return suite


def _row(name: str, suite: dict[str, Any] | None) -> str:
    if suite is None:
        return f"| {name} | " + " | ".join("–" for _ in _COLUMNS) + " | – |"
    counts = " | ".join(str(suite["counts"][column]) for column in _COLUMNS)
    return f"| {name} | {counts} | {len(suite['bugs'])} |"


if __name__ == "__main__":
    sys.exit(main())
