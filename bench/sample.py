"""Edits drawn at random from what devfix proposes for folders of code, to be judged by a reader.

    python bench/sample.py FOLDER... [--count 300] [--seed 0] [--select RULE] [--tier safe|unsafe|suggestion]

prints each drawn edit with its finding and the lines around it. The draw depends on the seed and the findings alone.
Precision is what a reader makes of it: this command claims nothing.
"""

import argparse
import collections
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

TIERS = ("safe", "unsafe", "suggestion")
AROUND = 4
"""How many lines are shown before and after an edit."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--select", default=None)
    parser.add_argument("--tier", choices=TIERS, default=None, help="only these; without it, all but suggestions")
    asked = parser.parse_args()
    proposed = [one for folder in asked.folders for one in edits_in(folder, asked.select, asked.tier)]
    drawn = random.Random(asked.seed).sample(proposed, min(asked.count, len(proposed)))
    for number, (path, finding) in enumerate(drawn, 1):
        print(f"=== {number}/{len(drawn)}")
        show(path, finding)
    counts = collections.Counter(finding["code"] for _, finding in proposed)
    print(f"{len(proposed)} edits in {len(asked.folders)} folders:", dict(sorted(counts.items())))
    return 0


def edits_in(folder: Path, select: str | None, tier: str | None) -> list[tuple[Path, dict[str, Any]]]:
    """The findings below `folder` that carry an edit, with the paths of their files."""
    chosen = ["--select", select] if select else []
    chosen += ["--suggestions"] if tier == "suggestion" else []
    command = [sys.executable, "-m", "devfix", "check", "--no-cache", "--output-format", "json", *chosen, "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1, 2} or not done.stdout:
        sys.exit(f"{folder}: {done.stderr.strip()}")
    found = json.loads(done.stdout)["findings"]
    return [
        (folder / one["path"], one)
        for one in found
        if one["fix"] and one["fix"]["edits"] and tier in {None, one["fix"]["safety"]}
    ]


def show(path: Path, finding: dict[str, Any]) -> None:
    """One finding and what its fix does to the lines."""
    fix = finding["fix"]
    print(f"{path}:{finding['line']} {finding['code']} ({fix['safety']}) {finding['message']}")
    print(f"fix: {fix['title']}")
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for edit in fix["edits"]:
        start, end = edit["line"] - 1, edit["end_line"] - (edit["end_column"] <= 1)
        last = max(end, start)
        shown = [f"  {line}" for line in lines[max(start - AROUND, 0) : start]]
        shown += [f"- {line}" for line in lines[start:last]]
        shown += [f"+ {line}" for line in edit["new_text"].splitlines()]
        shown += [f"  {line}" for line in lines[last : last + AROUND]]
        print(f"@@ line {edit['line']}")
        print("\n".join(shown))


if __name__ == "__main__":
    sys.exit(main())
