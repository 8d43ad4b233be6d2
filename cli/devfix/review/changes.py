"""What one fix changes, row by row; of a finding without an edit, the lines around it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from devfix_codemods.notebooks.notebook import Part, is_notebook, read

from devfix.reporting.frame import apply, split_lines
from devfix.reporting.sidebyside import Hunk, Row, Side, hunks
from devfix.review.documents import Document, Item

_AROUND = 4


@dataclass(frozen=True)
class Block:
    """Rows that follow one another. In a notebook they are of one cell, whose lines are numbered on their own."""

    rows: tuple[Row, ...]
    cell: int | None = None
    first: int = 1
    first_after: int = 1

    def number(self, side: Side, is_after: bool) -> int:
        """The line number to show."""
        return side.number - (self.first_after if is_after else self.first) + 1


def blocks(item: Item) -> list[Block]:
    """What the fix of `item` alone changes, or what the finding is about."""
    before = item.document.lines
    after, found = before, [_around(item)]
    repair = item.problem.repair
    if item.problem.fixable and repair is not None and repair.edits:
        after = split_lines(apply(item.document.text, repair.edits))
        found = _with_sink(hunks(before, after), item)
    if not is_notebook(item.path):
        return [Block(_without_end(rows, len(before), len(after))) for rows in found]
    cells = list(_cells(item.document, after))
    return [block for rows in found for block in _by_cell(rows, cells)]


def _without_end(rows: Hunk, last: int, last_after: int) -> Hunk:
    """`rows` without what follows the last line end: it is no line."""
    sides = (rows[-1].before, rows[-1].after)
    if all(side is not None and not side.text for side in sides) and not rows[-1].is_change:
        numbers = tuple(side.number for side in sides if side is not None)
        return rows[:-1] if numbers == (last, last_after) else rows
    return rows


def _around(item: Item) -> Hunk:
    span = item.problem.span
    return _unchanged(item, range(span.line - _AROUND, span.end_line + _AROUND + 1), 0)


def _with_sink(found: Sequence[Hunk], item: Item) -> list[Hunk]:
    """The hunks in their order, and among them the operation that fails where none of them shows where it begins.

    Of a long operation that a hunk lies in, the lines before and behind the hunk stand by themselves.
    """
    span = item.problem.span
    shown = {row.before.number for rows in found for row in rows if row.before is not None}
    if span.line in shown:
        return list(found)
    missing = [line for line in range(span.line - 1, span.end_line + 2) if line not in shown]
    pieces, moved = list[Hunk](), 0
    for rows in found:
        before = [line for line in missing if line < _first(rows)]
        pieces += [_unchanged(item, before, moved), rows]
        moved += sum((row.after is not None) - (row.before is not None) for row in rows)
        missing = missing[len(before) :]
    return [rows for rows in (*pieces, _unchanged(item, missing, moved)) if rows]


def _first(rows: Hunk) -> int:
    return next((row.before.number for row in rows if row.before is not None), 0)


def _unchanged(item: Item, numbers: Iterable[int], moved: int) -> Hunk:
    """These lines of the file as they are before and after, where they have `moved` so far."""
    lines = item.document.lines
    pairs = ((number, lines[number - 1]) for number in numbers if 1 <= number <= len(lines))
    return tuple(Row(Side(at, text), Side(at + moved, text), is_change=False) for at, text in pairs)


@dataclass(frozen=True)
class _Cell:
    number: int
    first: int
    end: int
    first_after: int


def _cells(document: Document, after: Sequence[str]) -> Iterator[_Cell]:
    """Where the cells of a notebook begin before and after; the comment above each is found again."""
    parts: Iterable[Part] = read(document.path, document.data).parts
    for part in parts:
        marker = document.lines[part.first - 3]
        yield _Cell(part.cell.number, part.first, part.first + len(split_lines(part.text)), after.index(marker) + 3)


def _by_cell(rows: Hunk, cells: Sequence[_Cell]) -> Iterator[Block]:
    pairs = ((_cell_of(row, cells), row) for row in rows)
    for cell, members in groupby(pairs, key=lambda pair: pair[0]):
        if cell is not None:
            yield Block(tuple(row for _, row in members), cell.number, cell.first, cell.first_after)


def _cell_of(row: Row, cells: Sequence[_Cell]) -> _Cell | None:
    """None for the lines between two cells, which stand in no notebook."""
    if row.before is not None:
        number = row.before.number
        return next((cell for cell in cells if cell.first <= number < cell.end), None)
    number = row.after.number if row.after is not None else 0
    return max((cell for cell in cells if cell.first_after <= number), key=lambda cell: cell.first, default=None)
