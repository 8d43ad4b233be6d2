"""How many patches of a folder of repositories a replay can judge: by scripts, by tests, by drivers of devfix's own.

    python bench/harness.py REPOSITORIES [--tests] [--python PYTHON] [--timeout 60] [--most 5] [--out RESULTS.json]

runs `devfix rewrite --unsafe --diff --replay` in each repository, which changes nothing, and prints the verdict on each
changed file, what it was reached by, and for what stays inconclusive the step at which the harness stopped. With
`--tests` the repository's own tests run in the place of scripts. `--most` takes so many files of each repository, drawn
from a seed. At last come the totals.
"""

import argparse
import collections
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Judge, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repositories", type=Path, help="a folder with one folder for each repository")
    parser.add_argument("--only", nargs="*", help="these repositories alone")
    parser.add_argument("--tests", action="store_true", help="run the repositories' tests in the place of scripts")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that runs their code")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each run")
    parser.add_argument("--limit", type=float, default=1800, help="seconds for each repository")
    parser.add_argument("--most", type=int, default=None, help="so many files of each repository")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write all results there, as JSON")
    arguments = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {}
    for folder in sorted(path for path in arguments.repositories.resolve().iterdir() if path.is_dir()):
        if arguments.only and folder.name not in arguments.only:
            continue
        found[folder.name] = _judged(folder, arguments)
        for entry in found[folder.name]:
            print(f"{folder.name}/{entry['path']}: {told(entry)}: {entry['reason'][:200]}", flush=True)
        if arguments.out is not None:
            arguments.out.write_text(json.dumps(found))
    _print_totals(found)


def _judged(folder: Path, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The replays of one repository."""
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "-q", folder], check=True)
    paths = ["."]
    if arguments.most is not None:
        paths = sorted(entry["path"] for entry in _reported(folder, ["."], arguments.limit).get("changed", []))
        paths = random.Random(arguments.seed).sample(paths, min(arguments.most, len(paths)))
        if not paths:
            return []
    options = ["--replay-tests" if arguments.tests else "--replay", "--timeout", str(arguments.timeout)]
    options += ["--python", arguments.python]
    replays: list[dict[str, Any]] = _reported(folder, [*paths, *options], arguments.limit).get("replays", [])
    return replays


def _reported(folder: Path, options: list[str], limit: float) -> dict[str, Any]:
    """The JSON report of `devfix rewrite --diff`; an empty one where there is none."""
    command = [sys.executable, "-m", "devfix", "rewrite", "--unsafe", "--diff", "--quiet", "-j", "2"]
    command += ["--output-format", "json", *options]
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
        report: dict[str, Any] = json.loads(ran.stdout)
    except subprocess.TimeoutExpired:
        print(f"{folder.name}: took longer than {limit:.0f} s", flush=True)
        return {}
    except ValueError:
        print(f"{folder.name}: no report: {ran.stderr[-300:]}", flush=True)
        return {}
    return report


def told(entry: dict[str, Any]) -> str:
    """The verdict, and by what it was reached or where the harness stopped."""
    harness = entry.get("harness")
    if harness is None:
        return str(entry["verdict"])
    step = harness["step"]
    return f"{entry['verdict']} (harness)" if step is None else f"{entry['verdict']}, stopped at: {step}"


def _print_totals(found: dict[str, list[dict[str, Any]]]) -> None:
    entries = [entry for replays in found.values() for entry in replays]
    judged = sum(entry["verdict"] != "inconclusive" for entry in entries)
    with_changes = sum(bool(replays) for replays in found.values())
    print(f"\n{len(entries)} changed files of {with_changes} repositories: {judged} with a verdict", end="")
    print(f" ({100 * judged / max(1, len(entries)):.0f} %)")
    for words, count in collections.Counter(map(told, entries)).most_common():
        print(f"{count:5} {words}")


if __name__ == "__main__":
    main()
