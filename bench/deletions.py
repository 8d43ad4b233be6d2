"""Device bugs made out of correct code: one move, one `device=`, one `map_location=` is deleted from a real file.

    python bench/deletions.py make --mirrors DIR --rows ROWS.jsonl --cases DIR [--only LIST]... [--half dev]
    python bench/deletions.py score --rows ROWS.jsonl --cases DIR --devfix CMD [--old CMD|OLD.json] [--json OUT]

`make` draws files of the newest commits that name torch and a device, and of each one place that moves a value:

    move      `x = x.to(device)` goes; `f(x.to(device))` becomes `f(x)`; the same for `.cuda()`
    factory   `torch.zeros(3, device=x.device)` loses `device=`
    load      `torch.load(p, map_location=d)` loses `map_location=`
    buffer    `self.register_buffer("n", v)` becomes `self.n = v`
    host      `x.detach().cpu().numpy()` loses `.cpu()`

`score` asks how many of them devfix undoes (scoring.py). Not every deletion is a bug that one file shows: compare
releases of devfix with each other, and read the misses.
"""

import argparse
import ast
import hashlib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import scoring
from cases import Mirror, Row, mirrors, parses, write_rows

LEFT_OUT = re.compile(r"(^|/)(tests?|testing|docs?|third_party|vendor)(/|_)|(^|/)test_|_test\.py$|conftest|setup\.py")
_DEVICE = re.compile(r"device|cuda", re.IGNORECASE)
_TORCH = ("torch", "th")
_FACTORIES = frozenset(
    "zeros ones full empty arange eye rand randn randint tensor linspace as_tensor randperm".split()  # noqa: SIM905
)
_MOST_FILES = 200
_MOST_BYTES = 150_000


@dataclass(frozen=True)
class Deletion:
    """`text` in place of the bytes from `start` to `end`; `last` is the line where what is left of the code ends."""

    kind: str
    line: int
    last: int
    start: int
    end: int
    text: bytes = b""

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.text + source[self.end :]


def deletions(source: bytes) -> list[Deletion]:
    """All that may be deleted from a file, and leaves one that parses."""
    return [one for one in _Sites(source).all() if parses(one.applied(source))]


class _Sites:
    """What puts a value somewhere, in one file."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.tree = ast.parse(source)
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def all(self) -> Iterator[Deletion]:
        statements = {id(call): found for call, found in self._statements()}
        yield from statements.values()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and id(node) not in statements:
                yield from self._of_call(node, node.func)

    def _statements(self) -> Iterator[tuple[ast.Call, Deletion]]:
        """Moves that are statements of their own: the statement goes."""
        for block in _blocks(self.tree):
            for statement in block:
                call = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
                if isinstance(call, ast.Call) and _is_move(call) and _keeps_name(statement, call):
                    yield call, self._without_statement(statement, alone=len(block) == 1)

    def _without_statement(self, statement: ast.stmt, *, alone: bool) -> Deletion:
        start, end = self._start(statement), self._end(statement)
        opening = self.source[self._starts[statement.lineno - 1] : start]
        closing = self.source[end:].split(b"\n", 1)[0].strip()
        if alone or opening.strip() or closing:
            return Deletion("move", statement.lineno, statement.lineno, start, end, b"pass")
        after = self.source.find(b"\n", end) + 1 or len(self.source)
        return Deletion("move", statement.lineno, statement.lineno, start - len(opening), after)

    def _of_call(self, call: ast.Call, function: ast.Attribute) -> Iterator[Deletion]:
        name, value = function.attr, function.value
        of_torch = isinstance(value, ast.Name) and value.id in _TORCH
        if _is_move(call):
            yield self._without_method(call, function, "move")
        elif name in _FACTORIES and of_torch:
            yield from self._without_keyword(call, "device", "factory")
        elif name == "load" and of_torch:
            yield from self._without_keyword(call, "map_location", "load")
        elif name == "register_buffer":
            yield from self._attribute(call, value)
        elif name == "numpy" and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            yield from [self._without_method(value, value.func, "host")] if value.func.attr == "cpu" else []

    def _without_method(self, call: ast.Call, function: ast.Attribute, kind: str) -> Deletion:
        value, name = self._end(function.value), function.attr.encode()
        dot = self.source.rfind(b".", value, self._end(function) - len(name))
        return Deletion(kind, call.lineno, function.value.end_lineno or call.lineno, dot, self._end(call))

    def _without_keyword(self, call: ast.Call, name: str, kind: str) -> Iterator[Deletion]:
        parts: list[ast.expr | ast.keyword] = sorted([*call.args, *call.keywords], key=self._start)
        for place, part in enumerate(parts):
            if isinstance(part, ast.keyword) and part.arg == name and (kind == "load" or _names_device(part.value)):
                start = self._end(parts[place - 1]) if place else self._start(part)
                end = self._end(part) if place or len(parts) == 1 else self._start(parts[1])
                yield Deletion(kind, call.lineno, part.lineno, start, end)

    def _attribute(self, call: ast.Call, owner: ast.expr) -> Iterator[Deletion]:
        """`self.n = v` for `self.register_buffer("n", v)`."""
        match call.args:
            case [ast.Constant(value=None), _] | [_, ast.Constant(value=None)]:
                return
            case [ast.Constant(value=str() as name), value] if name.isidentifier():
                text = b"%s.%s = %s" % (self._text(owner), name.encode(), self._text(value))
                yield Deletion("buffer", call.lineno, call.lineno, self._start(call), self._end(call), text)

    def _start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)

    def _text(self, node: ast.expr) -> bytes:
        return self.source[self._start(node) : self._end(node)]


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _is_move(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "cuda":
        return not isinstance(call.func.value, ast.Name) or call.func.value.id not in _TORCH
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "device")]
    return call.func.attr == "to" and bool(given) and _names_device(given[0])


def _keeps_name(statement: ast.stmt, call: ast.Call) -> bool:
    """`model.to(device)`, or `x = x.to(device)` and `self.x = self.x.cuda()`."""
    if isinstance(statement, ast.Expr):
        return True
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return len(targets) == 1 and ast.unparse(targets[0]) == ast.unparse(owner)


def _names_device(node: ast.expr) -> bool:
    return _DEVICE.search(ast.unparse(node)) is not None


def drawn(mirror: Mirror, chance: random.Random, most: int, seen: set[str]) -> Iterator[tuple[Row, bytes, bytes]]:
    """Rows of one repository with the broken file and its original. Copies of files that were seen are left out."""
    names = [name for name in mirror.paths() if not LEFT_OUT.search(name)]
    chance.shuffle(names)
    made = 0
    for name in names[:_MOST_FILES]:
        source = mirror.file(mirror.head, name)
        digest = hashlib.sha1(source).hexdigest()
        if digest in seen or not _is_candidate(source):
            continue
        seen.add(digest)
        found = deletions(source)
        if not found:
            continue
        kind = chance.choice(sorted({one.kind for one in found}))
        chosen = chance.choice([one for one in found if one.kind == kind])
        yield _row(mirror, name, chosen), chosen.applied(source), source
        made += 1
        if made == most:
            return


def _is_candidate(source: bytes) -> bool:
    text = source.decode("utf-8", "replace")
    return "torch" in text and bool(_DEVICE.search(text)) and len(source) <= _MOST_BYTES and parses(source)


def _row(mirror: Mirror, path: str, deleted: Deletion) -> Row:
    key = hashlib.sha1(f"{mirror.repo}{path}{deleted.start}{deleted.kind}".encode()).hexdigest()[:8]
    return Row(
        id=f"del-{mirror.repo.split('/')[1].lower()}-{key}",
        repo=mirror.repo,
        parent=mirror.head,
        path=path,
        bug_class=deleted.kind,
        lines_before=tuple(sorted({deleted.line, deleted.last})),
        summary=f"deleted: {deleted.kind}",
        origin="mutation",
    )


def make(asked: argparse.Namespace) -> list[Row]:
    chance = random.Random(asked.seed)
    chosen = mirrors(asked.mirrors, asked.only, asked.half)
    chance.shuffle(chosen)
    rows: list[Row] = []
    seen: set[str] = set()
    for mirror in chosen:
        for row, before, after in drawn(mirror, chance, asked.per_repo, seen):
            if len(rows) < asked.count:
                row.write_files(asked.cases, before, after)
                rows.append(row)
    write_rows(asked.rows, rows)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="draw deletions from mirrors")
    for option in ("--mirrors", "--cases", "--rows"):
        making.add_argument(option, type=Path, required=True)
    making.add_argument("--count", type=int, default=400)
    making.add_argument("--per-repo", type=int, default=6)
    making.add_argument("--seed", type=int, default=0)
    making.add_argument(
        "--only", type=Path, action="append", default=[], help="a list of names, or of rows with `repo`"
    )
    making.add_argument("--half", choices=["dev", "held", "both"], default="dev")
    scoring.add_options(commands.add_parser("score", help="what devfix makes of them"))
    asked = parser.parse_args()
    if asked.command == "score":
        scoring.score(asked)
        return
    rows = make(asked)
    print(f"{len(rows)} deletions of {len({row.repo for row in rows})} repositories")


if __name__ == "__main__":
    main()
