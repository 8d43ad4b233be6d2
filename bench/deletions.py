"""Device bugs made out of correct code: one move, one `device=`, one `map_location=` is deleted from a real file.

    python bench/deletions.py make --mirrors DIR --rows ROWS.jsonl --cases DIR [--only LIST]... [--half dev]
    python bench/deletions.py score --rows ROWS.jsonl --cases DIR --devfix CMD [--old CMD|OLD.json] [--json OUT]

`make` draws files of the newest commits that name torch and a device, and of each one place that moves a value:

    move      `x = x.to(device)` goes; `f(x.to(device))` becomes `f(x)`; the same for `.cuda()`
    factory   `torch.zeros(3, device=x.device)` loses `device=`
    load      `torch.load(p, map_location=d)` loses `map_location=`
    buffer    `self.register_buffer("n", v)` becomes `self.n = v`
    host      `x.detach().cpu().numpy()` loses `.cpu()`

A deletion that cannot fail is not made (harmless.py), nor one that nobody could have written: where it leaves an `if`,
a loop or a `with` empty, that goes as well, and `if cuda: x = x.cuda()` with an `else` becomes `if not (cuda): …`.

`score` asks how many of them devfix undoes (scoring.py). Not every deletion is a bug that one file shows: compare
releases of devfix with each other, and read the misses.
"""

import argparse
import ast
import hashlib
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import scoring
from cases import Mirror, Row, mirrors, parses, write_rows
from harmless import Harmless
from paths import lines_of, path_of
from scopes import Scopes, blocks, is_move, is_of_torch, keyword, names_device

LEFT_OUT = re.compile(r"(^|/)(tests?|testing|docs?|third_party|vendor)(/|_)|(^|/)test_|_test\.py$|conftest|setup\.py")
_DEVICE = re.compile(r"device|cuda", re.IGNORECASE)
_FACTORIES = frozenset(
    "zeros ones full empty arange eye rand randn randint tensor linspace as_tensor randperm".split()  # noqa: SIM905
)
_MOST_FILES = 200
_MOST_BYTES = 150_000


@dataclass(frozen=True)
class Deletion:
    """`text` in place of the bytes from `start` to `end`; `last` is the line where what is left of the code ends.

    `path` are the lines of the broken file from where the value is made to where it meets others.
    """

    kind: str
    line: int
    last: int
    start: int
    end: int
    text: bytes = b""
    path: tuple[int, ...] = ()

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.text + source[self.end :]


def deletions(source: bytes) -> list[Deletion]:
    """All that may be deleted from a file, and leaves one that parses and can fail."""
    return [one for one in _Sites(source).all() if parses(one.applied(source))]


class _Sites:
    """What puts a value somewhere, in one file."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.tree = ast.parse(source)
        self._scopes = Scopes(self.tree)
        self._harmless = Harmless(self._scopes)
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def all(self) -> Iterator[Deletion]:
        statements = {id(call): statement for call, statement in self._statements()}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield from self._of_call(node, node.func, statements.get(id(node)))

    def _statements(self) -> Iterator[tuple[ast.Call, ast.stmt]]:
        """Moves that are statements of their own."""
        for block in blocks(self.tree):
            for statement in block:
                call = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
                if isinstance(call, ast.Call) and is_move(call) and _keeps_name(statement, call):
                    yield call, statement

    def _of_call(self, call: ast.Call, function: ast.Attribute, whole: ast.stmt | None) -> Iterator[Deletion]:
        name, value = function.attr, function.value
        if is_move(call):
            if not self._harmless.move(call, whole):
                path = path_of(self._scopes, call, value)
                found = self._without_statement(whole) if whole is not None else self._without_method(call, function)
                yield from (self._placed(one, path) for one in found)
        elif name in _FACTORIES and is_of_torch(value):
            if not self._harmless.factory(call):
                yield from self._without_keyword(call, "device", "factory")
        elif name == "load" and is_of_torch(value):
            yield from self._without_keyword(call, "map_location", "load")
        elif name == "register_buffer":
            yield from self._attribute(call, value)
        elif name == "numpy" and isinstance(value, ast.Call):
            yield from self._brought_back(call, value)

    def _brought_back(self, call: ast.Call, value: ast.Call) -> Iterator[Deletion]:
        """`x.numpy()` for `x.cpu().numpy()`."""
        if isinstance(value.func, ast.Attribute) and value.func.attr == "cpu":
            path = path_of(self._scopes, call, value.func.value)
            yield from (self._placed(one, path) for one in self._without_method(value, value.func, "host"))

    def _without_statement(self, statement: ast.stmt) -> Iterator[Deletion]:
        """The statement goes, and with it what encloses nothing else."""
        gone = statement
        while len(self._scopes.block(gone)) == 1:
            above = self._scopes.parent(gone)
            if isinstance(above, ast.If) and above.orelse:
                yield from self._other_arm(gone, above) if above.body == [gone] else self._without_else(gone, above)
                return
            if not isinstance(above, ast.If | ast.For | ast.While | ast.With) or getattr(above, "orelse", []):
                break
            gone = above
        line, start, end = gone.lineno, self._start(gone), self._end(gone)
        opening = self.source[self._starts[line - 1] : start]
        closing = self.source[end:].split(b"\n", 1)[0].strip()
        if opening.strip() or closing or len(self._scopes.block(gone)) == 1:
            yield Deletion("move", line, line, start, end, b"pass")
            return
        after = self.source.find(b"\n", end) + 1 or len(self.source)
        yield Deletion("move", line, line, start - len(opening), after)

    def _without_else(self, gone: ast.stmt, choice: ast.If) -> Iterator[Deletion]:
        line = choice.body[-1].end_lineno or choice.lineno
        yield Deletion("move", line, line, self._end(choice.body[-1]), self._end(gone))

    def _other_arm(self, gone: ast.stmt, choice: ast.If) -> Iterator[Deletion]:
        """`if not (cuda): …` of what stood below `else`. A chain of conditions stays as it is."""
        other, start = choice.orelse[0], self._start(choice.test)
        opening = self.source[self._starts[other.lineno - 1] : self._start(other)]
        if opening.strip() or choice.lineno == gone.lineno or self._is_chained(choice):
            return
        text = b"not (%s):%s" % (self._text(choice.test), b"\r\n" if b"\r\n" in self.source else b"\n")
        yield Deletion("move", choice.lineno, choice.lineno + 1, start, self._starts[other.lineno - 1], text)

    def _is_chained(self, choice: ast.If) -> bool:
        """`elif` before or after."""
        around = [one for one in (choice, self._scopes.parent(choice)) if isinstance(one, ast.If) and one.orelse]
        return any(self.source.startswith(b"elif", self._start(one.orelse[0])) for one in around)

    def _without_method(self, call: ast.Call, function: ast.Attribute, kind: str = "move") -> Iterator[Deletion]:
        value, name = self._end(function.value), function.attr.encode()
        dot = self.source.rfind(b".", value, self._end(function) - len(name))
        yield Deletion(kind, call.lineno, function.value.end_lineno or call.lineno, dot, self._end(call))

    def _without_keyword(self, call: ast.Call, name: str, kind: str) -> Iterator[Deletion]:
        given = keyword(call, name)
        if given is None or (kind == "factory" and not names_device(given)):
            return
        parts: list[ast.expr | ast.keyword] = sorted([*call.args, *call.keywords], key=self._start)
        place = next(at for at, one in enumerate(parts) if isinstance(one, ast.keyword) and one.value is given)
        start = self._end(parts[place - 1]) if place else self._start(parts[place])
        end = self._end(parts[place]) if place or len(parts) == 1 else self._start(parts[1])
        yield self._placed(
            Deletion(kind, call.lineno, parts[place].lineno, start, end), path_of(self._scopes, call, call)
        )

    def _attribute(self, call: ast.Call, owner: ast.expr) -> Iterator[Deletion]:
        """`self.n = v` for `self.register_buffer("n", v)`."""
        match call.args:
            case [ast.Constant(value=None), _] | [_, ast.Constant(value=None)]:
                return
            case [ast.Constant(value=str() as name), value] if name.isidentifier():
                text = b"%s.%s = %s" % (self._text(owner), name.encode(), self._text(value))
                found = Deletion("buffer", call.lineno, call.lineno, self._start(call), self._end(call), text)
                yield self._placed(found, lines_of(self._scopes, call, [f"{ast.unparse(owner)}.{name}"]))

    def _placed(self, deleted: Deletion, path: Iterable[int]) -> Deletion:
        """With its path, in lines of the broken file."""
        first = self.source.count(b"\n", 0, deleted.start) + 1
        old = self.source.count(b"\n", deleted.start, deleted.end)
        kept = deleted.text.count(b"\n")
        lines = (line if line <= first else max(line - old + kept, first) for line in path)
        return replace(deleted, path=tuple(sorted({*lines})))

    def _start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)

    def _text(self, node: ast.expr) -> bytes:
        return self.source[self._start(node) : self._end(node)]


def _keeps_name(statement: ast.stmt, call: ast.Call) -> bool:
    """`model.to(device)`, or `x = x.to(device)` and `self.x = self.x.cuda()`."""
    if isinstance(statement, ast.Expr):
        return True
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return len(targets) == 1 and ast.unparse(targets[0]) == ast.unparse(owner)


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
        lines_path=deleted.path,
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
