"""Does devfix get through the files of real histories? Of git mirrors: files of the newest commit and of older ones.

    python bench/versions.py --mirrors DIR [--only LIST]... [--files N] [--commits N] [--seed N] [--json OUT]

Old versions hold what releases no longer do: half written code, old idioms, Python of ten years ago. Each file is
checked, rewritten with all fixes and suggestions, and rewritten again. What is wrong is told, one row of JSON each:

- `error`: devfix fails, and leaves the file out;
- `unparsable`: what it writes is no Python;
- `unstable`: a second rewrite changes the file again;
- `undefined`: the new file uses a name before it is bound, or that nothing binds, and the old one does not (by ruff);
- `slow`: it takes more than `--seconds`.

The exit code is 1 where anything is wrong. The files are other people's code: they are read from the mirrors only.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import FrameType

from cases import Mirror, mirrors, parses
from devfix_codemods import engine, rules
from devfix_codemods.outcomes import Changed, Checked, Failed, Options
from devfix_codemods.source import Source

MOST_COMMITS = 400
MOST_BYTES = 200_000
_CODES = frozenset(one.code for one in rules.own_rules())
_UNDEFINED = ("F821", "F823", "F822")


@dataclass(frozen=True)
class Wrong:
    """What devfix must not do, and the file with which it did."""

    kind: str
    repo: str
    commit: str
    path: str
    told: str


@dataclass(frozen=True)
class Read:
    """What became of one repository."""

    files: int
    changed: int
    wrong: list[Wrong]


class TooSlowError(Exception):
    pass


def wrongs(name: str, data: bytes) -> tuple[bool, list[tuple[str, str]]]:
    """Whether the file is changed, and what is wrong: kinds, each with what was told."""
    checked = engine.check(Source(name, data), Options(_CODES, suggestions=True))
    if not isinstance(checked, Checked):
        return False, _errors(checked)
    if not checked.findings:
        return False, []
    found: list[tuple[str, str]] = []
    changed = False
    for options, accept in (
        (Options(_CODES, unsafe=True), None),
        (Options(_CODES, unsafe=True, suggestions=True), lambda _: True),
    ):
        done = engine.rewrite(Source(name, data), options, accept)
        if not isinstance(done, Changed):
            found += _errors(done)
            continue
        changed = True
        if not parses(done.data):
            found.append(("unparsable", ""))
            continue
        again = engine.rewrite(Source(name, done.data), options, accept)
        if accept is None and isinstance(again, Changed):
            found.append(("unstable", ""))
        else:
            found += _errors(again)
        found += [("undefined", one) for one in sorted(undefined(done.data) - undefined(data))]
    return changed, found


def _errors(outcome: object) -> list[tuple[str, str]]:
    """A file that is no Python of today is its own fault; what `internal` marks is devfix's."""
    return [("error", outcome.reason)] if isinstance(outcome, Failed) and outcome.internal else []


def undefined(source: bytes) -> Counter[str]:
    """Names that nothing binds where `source` uses them, as ruff tells, without the lines."""
    options = ["--isolated", f"--select={','.join(_UNDEFINED)}", "--ignore-noqa", "--output-format=json"]
    done = subprocess.run(
        ["ruff", "check", *options, "--stdin-filename=a.py", "-"], input=source, capture_output=True, check=False
    )
    return Counter(one["message"] for one in json.loads(done.stdout or b"[]") if one["code"] in _UNDEFINED)


def read(mirror: Mirror, *, seed: int, files: int, commits: int, seconds: int) -> Read:
    """Files of the newest commit and of older ones, drawn by chance."""
    warnings.simplefilter("ignore")
    chance = random.Random(f"{seed} {mirror.repo}")
    count = changed = 0
    found: list[Wrong] = []
    for commit, path, data in _drawn(mirror, chance, files, commits):
        count += 1
        is_changed, told = _timed(path, data, seconds)
        changed += is_changed
        found += [Wrong(kind, mirror.repo, commit, path, text) for kind, text in told]
    return Read(count, changed, found)


def _drawn(mirror: Mirror, chance: random.Random, files: int, commits: int) -> Iterator[tuple[str, str, bytes]]:
    every = mirror.git("rev-list", f"--max-count={MOST_COMMITS}", "HEAD").decode().split()
    for commit in every[:1] + chance.sample(every[1:], min(commits, len(every[1:]))):
        names = mirror.git("ls-tree", "-r", "-z", "--name-only", commit).decode("utf8", "replace").split("\0")
        names = [name for name in names if name.endswith(".py")]
        for name in chance.sample(names, min(files, len(names))):
            data = mirror.file(commit, name)
            if b"torch" in data and len(data) <= MOST_BYTES:
                yield commit, name, data


def _timed(path: str, data: bytes, seconds: int) -> tuple[bool, list[tuple[str, str]]]:
    def late(number: int, frame: FrameType | None) -> None:
        raise TooSlowError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        return wrongs(path, data)
    except TooSlowError:
        return False, [("slow", f"more than {seconds} s")]
    finally:
        signal.alarm(0)


def summary(done: Sequence[Read]) -> str:
    kinds = Counter(one.kind for part in done for one in part.wrong)
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()) or "none"
    files, changed = sum(part.files for part in done), sum(part.changed for part in done)
    return f"{files} files of {sum(part.files > 0 for part in done)} repositories, {changed} rewritten; wrong: {told}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument(
        "--only", type=Path, action="append", default=[], help="a list of names, or of rows with `repo`"
    )
    parser.add_argument("--half", choices=["dev", "held", "both"], default="both")
    parser.add_argument("--files", type=int, default=12, help="of each commit")
    parser.add_argument("--commits", type=int, default=2, help="of each repository, besides the newest")
    parser.add_argument("--seconds", type=int, default=40, help="for one file, all runs together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="the rows of what is wrong")
    asked = parser.parse_args()
    one = partial(read, seed=asked.seed, files=asked.files, commits=asked.commits, seconds=asked.seconds)
    done: list[Read] = []
    with get_context("fork").Pool(asked.jobs, maxtasksperchild=10) as pool:
        for part in pool.imap_unordered(one, mirrors(asked.mirrors, asked.only, asked.half)):
            done.append(part)
            for wrong in part.wrong:
                print(json.dumps(asdict(wrong)), file=sys.stderr, flush=True)
    if asked.json is not None:
        rows = [json.dumps(asdict(wrong)) + "\n" for part in done for wrong in part.wrong]
        asked.json.write_text("".join(rows), encoding="utf-8")
    print(summary(done))
    return int(any(part.wrong for part in done))


if __name__ == "__main__":
    sys.exit(main())
