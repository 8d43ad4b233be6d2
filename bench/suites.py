"""What the own tests of real libraries say on the simulated accelerator: `devfix replay --tests` in each checkout.

    python bench/suites.py --python VENV/bin/python CHECKOUT [CHECKOUT::PATH,PATH...] ...

The interpreter has pytest and what the libraries need. After `::` stand the tests to run where not all are. Bugs are
listed below the table, to be read.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_COLUMNS = ("alike", "reveals", "of_tests", "otherwise", "not_simulated", "skipped", "fails_anyway", "not_run")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", nargs="+", metavar="CHECKOUT[::PATHS]")
    parser.add_argument("--python", default=sys.executable, help="The interpreter that runs the tests.")
    parser.add_argument("--timeout", default="600", help="Seconds for each run of a suite.")
    options = parser.parse_args()
    print("| library | " + " | ".join(name.replace("_", " ") for name in _COLUMNS) + " | bugs |")
    print("|---|" + "---:|" * (len(_COLUMNS) + 1))
    found = []
    for checkout in options.checkouts:
        folder, _, paths = checkout.partition("::")
        suite = _run(Path(folder), paths.split(",") if paths else [], options.python, options.timeout)
        print(_row(Path(folder).name, suite), flush=True)
        found += [(Path(folder).name, bug) for bug in (suite or {}).get("bugs", ())]
    for name, bug in found:
        error = bug["error"]
        print(f"\n{name}: {error['type']} at {error['path']}:{error['line']}: {error['message']}")
        print(f"    {bug['story']}\n    {len(bug['tests'])} tests, {bug['tests'][0]} among them")
    return 0


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
