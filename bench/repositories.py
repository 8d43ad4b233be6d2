"""Real bugs whose evidence lies in other files: what devfix finds when it sees the whole repository.

    python bench/repositories.py ROWS.jsonl MIRRORS --devfix CMD [--limit N] [--into FOLDER] [--json OUT]

ROWS has a fix a line: `id`, `repo`, `parent` (the commit before the fix), `path`, `lines_before` (what the fix touched)
and `local_evidence` (rows where it is true are left out). MIRRORS holds `OWNER+NAME/repo`, git directories. The tree of
each parent is laid out; `devfix check --unsafe` and `rewrite --diff --unsafe` run over it, or over `path` alone where
the tree has more than `MOST_FILES` Python files. A row is found where a finding, and edited where an edit, is at most
`NEAR` lines from one that the fix touched.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from cases import edited_lines, is_near

MOST_FILES = 300
SECONDS = 300


def main() -> None:
    options = _options()
    rows = [json.loads(line) for line in options.rows.read_text().splitlines() if line.strip()]
    rows = [row for row in rows if not row["local_evidence"]]
    results: list[dict[str, Any]] = []
    for row in rows:
        repository = options.mirrors / row["repo"].replace("/", "+") / "repo"
        if len(results) == options.limit:
            break
        with tempfile.TemporaryDirectory(dir=options.into) as folder:
            if _laid_out(repository, row["parent"], Path(folder)):
                results.append(_judged(row, Path(folder), shlex.split(options.devfix)))
                print(json.dumps(results[-1]), flush=True)
    found, edited = (sum(one[word] for one in results) for word in ("found", "edited"))
    print(f"{len(results)} repositories: {found} found, {edited} edited")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Real bugs whose evidence lies in other files.")
    parser.add_argument("rows", type=Path)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("--devfix", required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--into", type=Path)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _laid_out(repository: Path, commit: str, folder: Path) -> bool:
    """The Python files of a commit, as a repository of its own, so that imports are looked for no further up."""
    archive = folder / "tree.tar"
    command = ["git", f"--git-dir={repository}", "archive", f"--output={archive}", commit, "--", "*.py"]
    if subprocess.run(command, capture_output=True).returncode:
        return False
    shutil.unpack_archive(archive, folder, filter="data")
    archive.unlink()
    (folder / ".git").mkdir()
    return True


def _judged(row: dict[str, Any], folder: Path, devfix: list[str]) -> dict[str, Any]:
    whole = sum(1 for _ in folder.rglob("*.py")) <= MOST_FILES
    target = "." if whole else row["path"]
    report = _output([*devfix, "check", "--no-cache", "--unsafe", "--output-format", "json", target], folder)
    patch = _output([*devfix, "rewrite", "--no-cache", "--unsafe", "--diff", target], folder)
    findings = json.loads(report)["findings"] if report else []
    lines = {one["line"] for one in findings if one["path"] == row["path"]}
    edits = edited_lines(patch).get(row["path"], frozenset())
    return {
        "id": row["id"],
        "whole": whole,
        "findings": len(findings),
        "found": is_near(lines | edits, row["lines_before"]),
        "edited": is_near(edits, row["lines_before"]),
    }


def _output(command: list[str], folder: Path) -> str:
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS).stdout
    except subprocess.TimeoutExpired:
        return ""


if __name__ == "__main__":
    main()
