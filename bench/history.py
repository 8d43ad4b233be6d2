"""Device fixes that people made, mined mechanically from the histories of git mirrors.

    python bench/history.py mine --mirrors DIR --rows ROWS.jsonl --cases DIR [--only LIST]... [--half dev]
    python bench/history.py score --rows ROWS.jsonl --cases DIR --devfix CMD [--old CMD|OLD.json] [--json OUT]

A fix is small hunks of one file whose only new words are about devices or stand near, and that put something on a
device (fixes.py). What it places may be placed elsewhere on its path as well (paths.py). Files in which a commit
changed nothing else go first. Left out are merges, reverts, commits that touch many files or add Python files, tests
and documentation. Hunks that replace one device by another (`hardcoded`) are but a small part of the rows. Nobody
reads them, so some are no bugs: compare releases of devfix with each other.
"""

import argparse
import ast
import hashlib
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import scoring
from cases import Mirror, Row, mirrors, parses, write_rows
from deletions import LEFT_OUT
from fixes import HARDCODED, Fix, Hunk, fix_of
from paths import lines_of, path_of
from scopes import Scopes, dotted, is_move, keyword

HARDCODED_SHARE = 0.15
MOST_COMMITS = 3000
MOST_FILES = 20
MOST_HUNKS = 10
PER_COMMIT = 2
MOST_READ = 200
"""So many changes of a repository are looked at, drawn by chance."""
SECONDS = 90
"""So long the history of one repository is read."""

_AT_ONCE = 500
_MOST_BYTES = 150_000
_PATTERN = r"(\.to\(|\.cuda\(|device=|map_location|\.cpu\(\)|register_buffer)"
_LOG = (
    *("-c", "core.quotePath=false", "log", "--no-walk=unsorted", "--stdin", "--format=%x00%H %P%x00%s"),
    *("-p", "-U0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--diff-filter=M", f"-G{_PATTERN}"),
    *("--", "*.py"),
)
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ADDS = re.compile(_PATTERN)


@dataclass
class Change:
    """What one commit did to one file."""

    commit: str
    parent: str
    subject: str
    path: str = ""
    hunks: list[Hunk] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """The same for the same change in another file or fork."""
        return hashlib.sha1("\n".join("".join(line.split()) for line in self.text).encode()).hexdigest()

    @property
    def is_candidate(self) -> bool:
        small = any(one.is_small for one in self.hunks)
        balance = sum((1 if line[0] == "+" else -1) * len(_ADDS.findall(line)) for line in self.text)
        known = bool(self.path) and not LEFT_OUT.search(self.path) and not self.subject.lower().startswith("revert")
        replaces = any(line[0] == "+" and _ADDS.search(line) for line in self.text) and balance >= 0
        return known and small and replaces and 0 < len(self.hunks) <= MOST_HUNKS


def changes(log: str) -> Iterator[Change]:
    """The files of a log, each with its hunks."""
    commit, parent, subject = "", "", ""
    change, is_head = Change("", "", ""), True
    for line in log.split("\n"):
        if line.startswith("\0"):
            hashes, _, subject = line[1:].partition("\0")
            commit, _, parent = hashes.partition(" ")
        elif line.startswith("diff --git "):
            yield change
            change, is_head = Change(commit, parent, subject), True
        elif (found := _HUNK.match(line)) is not None:
            change.hunks.append(Hunk(_range(found, 1), _range(found, 3)))
            is_head = False
        elif is_head and line.startswith("+++ b/"):
            change.path = line.removeprefix("+++ b/").rstrip("\t")
        elif not is_head and line[:1] in ("+", "-"):
            change.text.append(line)
    yield change


def _range(found: re.Match[str], group: int) -> range:
    """The lines of one side of a hunk; where there are none, an empty range after the line before."""
    start, count = int(found[group]), int(found[group + 1] or 1)
    return range(start, start + count)


def history(mirror: Mirror) -> Iterator[Change]:
    """What may be a fix, from the newest commit on, as long as the time lasts."""
    end = time.monotonic() + SECONDS
    commits = mirror.git("rev-list", "--no-merges", f"--max-count={MOST_COMMITS}", "HEAD").decode().split()
    for start in range(0, len(commits), _AT_ONCE):
        if (left := end - time.monotonic()) <= 0:
            return
        given = "\n".join(commits[start : start + _AT_ONCE]) + "\n"
        log = mirror.git(*_LOG, seconds=left, given=given).decode("utf-8", "replace")
        yield from (one for one in changes(log) if one.is_candidate)


def fixes(mirror: Mirror, chance: random.Random, most: int, seen: set[str]) -> list[tuple[Row, bytes, bytes]]:
    """Rows of one repository with the file before and after. A change that was seen gives none."""
    found = list(history(mirror))
    chance.shuffle(found)
    mined: list[tuple[Change, Fix, bytes, bytes]] = []
    for change in found[:MOST_READ]:
        if change.digest in seen or not _is_small_commit(mirror, change.commit):
            continue
        before, after = (mirror.file(commit, change.path) for commit in (change.parent, change.commit))
        fix = fix_of(before, after, change.hunks) if _are_read(before, after) else None
        if fix is not None:
            seen.add(change.digest)
            mined.append((change, fix, before, after))
    chosen: list[tuple[Row, bytes, bytes]] = []
    for change, fix, before, after in sorted(mined, key=lambda one: not one[1].alone):
        if sum(row.fix_commit == change.commit for row, _, _ in chosen) < PER_COMMIT:
            chosen.append((_row(mirror, change, fix, after), before, after))
    return chosen[:most]


def _are_read(*sources: bytes) -> bool:
    return all(b"torch" in one and len(one) <= _MOST_BYTES and parses(one) for one in sources)


def _is_small_commit(mirror: Mirror, commit: str) -> bool:
    """Whether it touches few files and adds no code as a whole."""
    said = mirror.git("diff-tree", "--no-commit-id", "--name-status", "--no-renames", "-r", commit).decode(
        "utf-8", "replace"
    )
    lines = said.splitlines()
    return 0 < len(lines) <= MOST_FILES and not any(one[:1] == "A" and one.endswith(".py") for one in lines)


def _row(mirror: Mirror, change: Change, fix: Fix, after: bytes) -> Row:
    key = hashlib.sha1(f"{mirror.repo}{change.commit}{change.path}".encode()).hexdigest()[:8]
    return Row(
        id=f"fix-{mirror.repo.split('/')[1].lower()}-{key}",
        repo=mirror.repo,
        parent=change.parent,
        fix_commit=change.commit,
        path=change.path,
        bug_class=fix.kind,
        lines_before=fix.before,
        lines_after=fix.after,
        lines_path=tuple(sorted({line for one in _path(after, fix) for line in _before(one, change.hunks)})),
        summary=change.subject,
        origin="mined",
    )


def _path(after: bytes, fix: Fix) -> set[int]:
    """The lines of the new file between where what the fix places is made and where it meets others."""
    scopes = Scopes(ast.parse(after))
    lines: set[int] = set()
    for call in ast.walk(scopes.tree):
        if isinstance(call, ast.Call) and call.lineno in fix.after and isinstance(call.func, ast.Attribute):
            lines.update(_path_of(scopes, call, call.func))
    return lines


def _path_of(scopes: Scopes, call: ast.Call, function: ast.Attribute) -> tuple[int, ...]:
    """The path of what one call places; empty where it places nothing."""
    if is_move(call) or function.attr == "cpu":
        return path_of(scopes, call, function.value)
    if keyword(call, "device") is not None or keyword(call, "map_location") is not None:
        return path_of(scopes, call, call)
    match call.args[:1]:
        case [ast.Constant(value=str(name))] if function.attr == "register_buffer":
            return lines_of(scopes, call, [f"{dotted(function.value)}.{name}"])
    return ()


def _before(line: int, hunks: Iterable[Hunk]) -> tuple[int, ...]:
    """Where a line of the new file stands in the old one: for one that is new, what the hunk replaced."""
    for one in sorted(hunks, key=lambda one: one.new.start, reverse=True):
        if line in one.new:
            return one.place
        last = one.new.stop - 1 if one.new else one.new.start
        if line > last:
            return (line - last + (one.old.stop - 1 if one.old else one.old.start),)
    return (line,)


def within_share(rows: Sequence[Row], share: float = HARDCODED_SHARE) -> list[Row]:
    """The rows, with no more about hard-coded devices than `share` of what is left."""
    others = sum(row.bug_class != HARDCODED for row in rows)
    room = int(others * share / (1 - share))
    hardcoded = [row for row in rows if row.bug_class == HARDCODED][:room]
    return [row for row in rows if row.bug_class != HARDCODED or row in hardcoded]


def mine(asked: argparse.Namespace) -> list[Row]:
    chosen = mirrors(asked.mirrors, asked.only, asked.half)
    random.Random(asked.seed).shuffle(chosen)
    rows: list[Row] = []
    seen: set[str] = set()
    for mirror in chosen:
        chance = random.Random(f"{asked.seed} {mirror.repo}")
        found = fixes(mirror, chance, asked.per_repo, seen)
        for row, before, after in found:
            row.write_files(asked.cases, before, after)
            rows.append(row)
        print(f"{mirror.repo}: {len(found)}", file=sys.stderr, flush=True)
        write_rows(asked.rows, within_share(rows))
    return within_share(rows)


def summary(rows: Iterable[Row]) -> str:
    many = list(rows)
    kinds = Counter(row.bug_class for row in many).most_common()
    told = ", ".join(f"{name} {count}" for name, count in kinds)
    return f"{len(many)} rows of {len({row.repo for row in many})} repositories: {told}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    mining = commands.add_parser("mine", help="look for fixes in the histories of mirrors")
    for option in ("--mirrors", "--cases", "--rows"):
        mining.add_argument(option, type=Path, required=True)
    mining.add_argument("--per-repo", type=int, default=6)
    mining.add_argument("--seed", type=int, default=0)
    mining.add_argument(
        "--only", type=Path, action="append", default=[], help="a list of names, or of rows with `repo`"
    )
    mining.add_argument("--half", choices=["dev", "held", "both"], default="dev")
    scoring.add_options(commands.add_parser("score", help="what devfix makes of them"))
    asked = parser.parse_args()
    if asked.command == "score":
        scoring.score(asked)
    else:
        print(summary(mine(asked)))


if __name__ == "__main__":
    main()
