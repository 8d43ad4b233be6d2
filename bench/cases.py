"""What the measures of recall share: git mirrors of public repositories, and rows of known bugs with their files.

A mirror is `MIRRORS/<owner>+<name>/repo`, or `.../repo/.git`: a git directory. A row of `ROWS.jsonl` is a bug of which
the place is known; `CASES/<id>/before.py` is the file with it, and `after.py` the one without. These files are other
people's code: they stay outside every repository.
"""

import ast
import collections
import difflib
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Literal

NEAR = 3
"""So many lines from a bug, an edit or a finding is taken to be about it."""

Half = Literal["dev", "held", "both"]
Side = Literal["before", "after"]
SIDES: tuple[Side, ...] = ("before", "after")
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ")
_LINES = ("lines_before", "lines_after", "lines_path")


@dataclass(frozen=True)
class Row:
    """A bug of `path` at the commit `parent`, on `lines_before`.

    `lines_path` are those between where the value is made and where it meets others: what is proposed there, and not
    for the correct file, counts as well. `lines_after` is where the file without it differs on its account; where it is
    not told, all that differs counts.
    """

    id: str
    repo: str
    parent: str
    path: str
    bug_class: str
    lines_before: tuple[int, ...]
    lines_after: tuple[int, ...] = ()
    lines_path: tuple[int, ...] = ()
    fix_commit: str | None = None
    local_evidence: bool = True
    summary: str = ""
    origin: str = ""

    def file(self, cases: Path, side: Side) -> Path:
        return cases / self.id / (side + Path(self.path).suffix)

    def write_files(self, cases: Path, before: bytes, after: bytes) -> None:
        (cases / self.id).mkdir(parents=True, exist_ok=True)
        self.file(cases, "before").write_bytes(before)
        self.file(cases, "after").write_bytes(after)


def read_rows(path: Path) -> list[Row]:
    """The rows of a file. Keys that nobody asks for are dropped."""
    known = {one.name for one in fields(Row)}
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    kept = [{key: value for key, value in one.items() if key in known} for one in found]
    return [Row(**{**one, **{name: tuple(one.get(name, ())) for name in _LINES}}) for one in kept]


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows), encoding="utf-8")


def half_of(repo: str) -> Half:
    """Develop on the half of all repositories that is `dev`; the other one is held back, for measuring only."""
    return "dev" if hashlib.sha1(repo.encode()).hexdigest()[0] < "8" else "held"


def is_near(lines: Iterable[int], wanted: Sequence[int]) -> bool:
    return any(abs(one - other) <= NEAR for one in lines for other in wanted)


def changed_lines(old: str, new: str) -> tuple[int, ...]:
    """The lines of `new`, from 1, that are not those of `old`, or after which lines of `old` are gone."""
    before, after = (text.split("\n") for text in (old, new))
    steps = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return tuple(
        line for tag, _, _, start, end in steps if tag != "equal" for line in (range(start + 1, end + 1) or [start])
    )


def edited_lines(patch: str) -> dict[str, frozenset[int]]:
    """By file, the lines of the old side that a patch removes, or after which it inserts."""
    found: dict[str, set[int]] = collections.defaultdict(set)
    name, line = "", 0
    for row in patch.splitlines():
        if row.startswith("--- "):
            name = row[4:].split("\t")[0].strip().removeprefix("a/")
        elif (hunk := _HUNK.match(row)) is not None:
            line = int(hunk.group(1)) - (hunk.group(2) != "0")
        elif name and row[:1] in ("-", "+", " ") and not row.startswith("+++"):
            line += row[0] != "+"
            if row[0] != " ":
                found[name].add(line)
    return {name: frozenset(lines) for name, lines in found.items()}


def parses(source: bytes) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


@dataclass(frozen=True)
class Mirror:
    """The git directory of a repository. What it lacks is not fetched."""

    repo: str
    folder: Path

    def git(self, *arguments: str, seconds: float = 120, given: str = "") -> bytes:
        """What git says on standard output; nothing where it fails or takes too long."""
        try:
            done = subprocess.run(
                ["git", f"--git-dir={self.folder}", *arguments],
                input=given.encode(),
                capture_output=True,
                timeout=seconds,
                env={**os.environ, "GIT_NO_LAZY_FETCH": "1"},
            )
        except subprocess.TimeoutExpired:
            return b""
        return done.stdout if done.returncode == 0 else b""

    @cached_property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD").decode().strip()

    def paths(self) -> list[str]:
        """All Python files of the newest commit."""
        names = self.git("ls-tree", "-r", "-z", "--name-only", "HEAD").decode("utf8", "replace")
        return [name for name in names.split("\0") if name.endswith(".py")]

    def file(self, commit: str, path: str) -> bytes:
        return self.git("cat-file", "blob", f"{commit}:{path}")


def mirrors(folder: Path, only: Sequence[Path] = (), half: Half = "dev") -> list[Mirror]:
    """The mirrors in `folder`, by name; where lists are given (names, or rows with `repo`), those that are on one."""
    wanted = {name for path in only for name in _names(path)}
    names = sorted(one.name.replace("+", "/", 1) for one in folder.iterdir() if "+" in one.name and one.is_dir())
    kept = [name for name in names if (not only or name in wanted) and half in ("both", half_of(name))]
    places = {name: folder / name.replace("/", "+") / "repo" for name in kept}
    found = {name: place / ".git" if (place / ".git").is_dir() else place for name, place in places.items()}
    return [Mirror(name, place) for name, place in found.items() if (place / "HEAD").is_file()]


def _names(path: Path) -> list[str]:
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [json.loads(line)["repo"] if line.startswith("{") else line.split()[0] for line in lines]
