"""Which statements a patch changed, where unchanged lines went, and which places stand for which fix."""

import ast
import difflib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from devfix_codemods.edits.operations import AddImport, InsertStatement
from devfix_codemods.findings import Fix
from devfix_codemods.source import Source

from devfix.results import Cell

_DECLARATIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A patched statement: the first and last line of what of it runs as one (of a compound statement the header).

    `declares` marks imports and headers of functions and classes, which run whether or not what they declare is used.
    """

    first: int
    last: int
    declares: bool = False

    @property
    def lines(self) -> range:
        return range(self.first, self.last + 1)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which patched statements ran and which did not."""

    reached: tuple[Place, ...] = ()
    missed: tuple[Place, ...] = ()

    @property
    def is_empty(self) -> bool:
        return bool(self.missed) and not self.reached


@dataclass(frozen=True)
class Patch:
    """One file before and after. Lines count from 1, in a notebook those of its program, whose `cells` are told."""

    before: bytes
    after: bytes
    cells: tuple[Cell, ...] = ()

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The patched statements."""
        return self._places_of(self._changes)

    @property
    def watched(self) -> tuple[int, ...]:
        """The lines whose running tells whether the patched statements ran."""
        return tuple(sorted({line for place in self.places for line in place.lines}))

    def coverage(self, lines: Collection[int], fix: Fix | None = None) -> Coverage:
        """What the lines that ran say of the patch, or of the part of it that came from `fix`."""
        places = telling(self.places if fix is None else self._places_of(self._changes_of(fix)))
        reached = tuple(place for place in places if any(line in lines for line in place.lines))
        return Coverage(reached, tuple(place for place in places if place not in reached))

    def moved(self, line: int) -> int | None:
        """The number after the patch of a line that it left alone; None for a line that it changed or removed."""
        for kind, start, end, target, _ in self._opcodes:
            if kind == "equal" and start < line <= end:
                return line - start + target
        return None

    def ran_in_place_of(self, line: int, lines: Collection[int]) -> bool:
        """Whether the lines that ran hold one of a statement that stands for a line that was changed or removed."""
        changes = (one for one in self._changes if one[1] < line <= one[2])
        new = {number for change in changes for number in _lines_after(_within(change, line, line))}
        standing = (one.lines for one in self._statements if not new.isdisjoint(one.lines))
        return any(line in lines for one in standing for line in one)

    def is_patched(self, line: int) -> bool:
        """Whether a line of the file after belongs to a patched statement."""
        return any(line in place.lines for place in self.places)

    @cached_property
    def _opcodes(self) -> list[_Opcode]:
        before, after = _lines(self.before), _lines(self.after)
        shorter = min(len(before), len(after))  # what both begin and end with is not searched: many lines may be equal
        head = next((at for at in range(shorter) if before[at] != after[at]), shorter)
        tail = next((at for at in range(shorter - head) if before[-1 - at] != after[-1 - at]), shorter - head)
        end, after_end = len(before) - tail, len(after) - tail
        found: list[_Opcode] = [("equal", 0, head, 0, head)] if head else []
        matcher = difflib.SequenceMatcher(None, before[head:end], after[head:after_end], autojunk=False)
        for kind, start, stop, target, target_stop in matcher.get_opcodes():
            found.append((kind, start + head, stop + head, target + head, target_stop + head))
        return [*found, ("equal", end, len(before), after_end, len(after))] if tail else found

    @cached_property
    def _changes(self) -> list[_Opcode]:
        return [opcode for opcode in self._opcodes if opcode[0] != "equal"]

    def _changes_of(self, fix: Fix) -> list[_Opcode]:
        spans = [
            edit.anchor if isinstance(edit, InsertStatement) else edit.span
            for edit in fix.edits
            if not isinstance(edit, AddImport)
        ]
        return [
            _within(change, span.line, span.end_line)
            for change in self._changes
            for span in spans
            if _touches(change, span.line, span.end_line)
        ]

    def _places_of(self, changes: Iterable[_Opcode]) -> tuple[Place, ...]:
        numbers = {number for change in changes for number in _lines_after(change)}
        inner = [place for place in self._lambdas if not numbers.isdisjoint(place.lines)]
        numbers -= {number for place in inner for number in place.lines}
        return tuple(sorted([*inner, *(place for place in self._statements if not numbers.isdisjoint(place.lines))]))

    @cached_property
    def _statements(self) -> tuple[Place, ...]:
        return tuple(_places(self._tree)) if self._tree is not None else ()

    @cached_property
    def _lambdas(self) -> tuple[Place, ...]:
        """The bodies of lambdas on lines of their own: a statement that only makes the lambda does not run them."""
        nodes = ast.walk(self._tree) if self._tree is not None else ()
        bodies = [one.body for one in nodes if isinstance(one, ast.Lambda) and one.body.lineno > one.lineno]
        return tuple(Place(one.lineno, one.end_lineno or one.lineno) for one in bodies)

    @cached_property
    def _tree(self) -> ast.Module | None:
        try:
            return ast.parse(self.after)
        except (SyntaxError, ValueError):
            return None


def telling(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """Those places whose running means something: declarations only where there is nothing else."""
    return tuple(place for place in places if not place.declares) or places


def _lines(data: bytes) -> list[str]:
    return Source("", data).text.replace("\r\n", "\n").split("\n")


def _lines_after(change: _Opcode) -> range:
    """The lines that a change made; where it only removed some, the two that now meet there."""
    _, _, _, start, end = change
    return range(start + 1, end + 1) if end > start else range(start, start + 2)


def _touches(change: _Opcode, first: int, last: int) -> bool:
    """Whether a change lies in lines `first` to `last` of the file before, or inserts right above or below them."""
    _, start, end, _, _ = change
    return first - 1 <= start <= last if start == end else start < last and end >= first


def _within(change: _Opcode, first: int, last: int) -> _Opcode:
    """What of a change lies in lines `first` to `last` of the file before, where each of its lines became one."""
    kind, start, end, target, target_end = change
    if kind != "replace" or end - start != target_end - target:
        return change
    begin, stop = max(start, first - 1), min(end, last)
    return kind, begin, stop, target + begin - start, target + stop - start


def _places(tree: ast.Module) -> Iterator[Place]:
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not _is_silent(node):
            first = _first_line(node)
            yield Place(first, max(first, _last_line(node)), isinstance(node, _DECLARATIONS))


def _is_silent(node: ast.stmt) -> bool:
    """Whether a statement has no instructions of its own: a docstring, `global`, `nonlocal`."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Global | ast.Nonlocal)


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _last_line(node: ast.stmt) -> int:
    """The last line of a simple statement, or of a compound one's header."""
    if isinstance(node, ast.Match):
        return node.cases[0].pattern.lineno - 1
    body: list[ast.stmt] = getattr(node, "body", [])
    return _first_line(body[0]) - 1 if body else node.end_lineno or node.lineno
