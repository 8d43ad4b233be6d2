"""Does a finding depend on how a program is written? Real files, in shapes that mean the same.

    python bench/metamorphic.py --mirrors DIR [--only LIST]... [--half dev] [--files N] [--seed N] [--shapes NAME ...]
        [--keep DIR] [--json OUT]

Files of the newest commits are drawn; in each that has a place to break, one move, one `device=` or one load is deleted
(deletions.py). What devfix finds in such a file, suggestions included, has to be found in all of its shapes
(`reshaping/`). By shape, the table says

    files     that the change of shape changes, and in which there is something to find
    findings  in these files
    lost      findings of a rule in a function of which there is one fewer in the other shape
    gained    findings of which there is one more
    fixes     findings with a fix that have none in the other shape

With `--keep`, the two texts of each file with a difference are left in DIR.
"""

import argparse
import ast
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from json import dumps
from multiprocessing import get_context
from pathlib import Path

from cases import Mirror, mirrors
from deletions import LEFT_OUT, deletions
from devfix_codemods import engine, rules
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source
from reshaping import RESHAPINGS, reshaped
from reshaping.trees import OWN

MOST_BYTES = 60_000
_OPTIONS = Options(frozenset(one.code for one in rules.own_rules()), unsafe=True, suggestions=True)
Key = tuple[str, str]


@dataclass(frozen=True)
class Difference:
    """What a change of shape makes of the findings of one file: (code, function) of those lost and gained."""

    repo: str
    path: str
    shape: str
    findings: int
    fixes: int
    lost: list[Key]
    gained: list[Key]
    without_fix: list[Key]
    texts: tuple[str, str]


@dataclass(frozen=True)
class Found:
    """How many findings there are by (code, function), and how many of them have a fix."""

    all: Counter[Key]
    fixed: Counter[Key]


def found(text: str) -> Found | None:
    """What devfix finds; nothing where it cannot read the file."""
    done = engine.check(Source("a.py", text.encode()), _OPTIONS)
    if not isinstance(done, Checked):
        return None
    scopes = _scopes(ast.parse(text))
    keys = [((one.code, _scope_at(scopes, one.span.line)), one.fix is not None) for one in done.findings]
    return Found(Counter(key for key, _ in keys), Counter(key for key, has_fix in keys if has_fix))


def _scopes(tree: ast.Module) -> list[tuple[int, int, str]]:
    """From, to and name of all functions and classes, the inner ones last."""
    found: list[tuple[int, int, str]] = []

    def within(node: ast.AST, outer: str) -> None:
        for one in ast.iter_child_nodes(node):
            name = outer
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{outer}.{one.name}"
                if not one.name.startswith(OWN):
                    found.append((one.lineno, one.end_lineno or one.lineno, name))
            within(one, name)

    within(tree, "")
    return found


def _scope_at(scopes: Sequence[tuple[int, int, str]], line: int) -> str:
    return next((name for start, end, name in reversed(scopes) if start <= line <= end), "")


def differences(repo: str, path: str, source: str, shapes: Sequence[str]) -> Iterator[Difference]:
    """One for each shape that is another text, where there is something to find in the file as it is."""
    text = reshaped(source)
    before = found(text)
    if before is None or not before.all:
        return
    for shape in shapes:
        other = reshaped(source, RESHAPINGS[shape])
        if other == text:
            continue
        after = found(other)
        if after is None:
            raise RuntimeError(f"devfix cannot read {path} of {repo} as {shape!r}")
        lost, gained = before.all - after.all, after.all - before.all
        without_fix = before.fixed - after.fixed
        yield Difference(
            repo,
            path,
            shape,
            before.all.total(),
            before.fixed.total(),
            sorted(lost.elements()),
            sorted(gained.elements()),
            sorted(without_fix.elements()),
            (text, other),
        )


def compared(mirror: Mirror, *, seed: int, files: int, shapes: Sequence[str]) -> list[Difference]:
    """The differences of files of one repository, drawn by chance."""
    warnings.simplefilter("ignore")
    chance = random.Random(f"{seed} {mirror.repo}")
    return [
        one for path, source in _drawn(mirror, chance, files) for one in differences(mirror.repo, path, source, shapes)
    ]


def _drawn(mirror: Mirror, chance: random.Random, files: int) -> Iterator[tuple[str, str]]:
    """Files with one deletion each, where one is possible."""
    paths = [path for path in mirror.paths() if not LEFT_OUT.search(path)]
    chance.shuffle(paths)
    left = files
    for path in paths:
        data = mirror.file("HEAD", path)
        if left == 0:
            return
        if len(data) > MOST_BYTES or not re.search(rb"\btorch\b", data):
            continue
        try:
            places = deletions(data)
            source = (chance.choice(places).applied(data) if places else data).decode()
            ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            continue
        left -= 1
        yield path, source


def table(done: Sequence[Difference]) -> str:
    rows = [
        "| shape | files | findings | lost | gained | fixes | lost fixes |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    shapes = sorted({one.shape for one in done}, key=list(RESHAPINGS).index)
    rows += [_row(shape, [one for one in done if one.shape == shape]) for shape in shapes]
    return "\n".join([*rows, _row("all", done)])


def _row(name: str, done: Sequence[Difference]) -> str:
    findings, fixes = sum(one.findings for one in done), sum(one.fixes for one in done)
    lost, gained = (sum(len(part) for part in parts) for parts in zip(*((one.lost, one.gained) for one in done)))
    without = sum(len(one.without_fix) for one in done)
    share = f"{100 * lost / findings:.1f} %", f"{100 * without / max(fixes, 1):.1f} %"
    return f"| {name} | {len(done)} | {findings} | {lost} ({share[0]}) | {gained} | {fixes} | {without} ({share[1]}) |"


def _keep(folder: Path, done: Sequence[Difference]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, one in enumerate(done):
        if one.lost or one.gained or one.without_fix:
            name = f"{one.shape.replace(' ', '-')}-{number}"
            (folder / f"{name}.base.py").write_text(one.texts[0] + "\n", encoding="utf-8")
            (folder / f"{name}.other.py").write_text(one.texts[1] + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument(
        "--only", type=Path, action="append", default=[], help="a list of names, or of rows with `repo`"
    )
    parser.add_argument("--half", choices=["dev", "held", "both"], default="both")
    parser.add_argument("--files", type=int, default=4, help="of each repository")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shapes", nargs="+", default=list(RESHAPINGS), choices=list(RESHAPINGS), metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the texts of files with a difference there")
    parser.add_argument("--json", type=Path, metavar="OUT", help="one row for each file and shape with a difference")
    asked = parser.parse_args()
    one = partial(compared, seed=asked.seed, files=asked.files, shapes=asked.shapes)
    with get_context("fork").Pool(asked.jobs, maxtasksperchild=10) as pool:
        parts = pool.imap(one, mirrors(asked.mirrors, asked.only, asked.half))
        done = [difference for part in parts for difference in part]
    if asked.keep is not None:
        _keep(asked.keep, done)
    if asked.json is not None:
        rows = [{**asdict(one), "texts": None} for one in done if one.lost or one.gained or one.without_fix]
        asked.json.write_text("".join(dumps(row) + "\n" for row in rows), encoding="utf-8")
    print(table(done) if done else "nothing to find")
    return 0


if __name__ == "__main__":
    sys.exit(main())
