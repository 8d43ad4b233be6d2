"""What one fix changes, side by side: blocks of lines that stay and of lines that do not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup, escape

from devfix.reporting.html.code import highlighted
from devfix.reporting.html.sources import Text
from devfix.reporting.sidebyside import Hunk, Row, Side, hunks
from devfix.results import Replacement

_UNKNOWN = Text("")


@dataclass(frozen=True)
class Line:
    """A line on one side: its number in its file or cell, the indentation that all around it share, and its code."""

    number: int
    indent: Markup
    code: Markup


@dataclass(frozen=True)
class Block:
    """Lines beside each other, all of which changed, or none; a side that has no line there is None."""

    is_change: bool
    rows: tuple[tuple[Line | None, Line | None], ...]


@dataclass(frozen=True)
class Part:
    """A hunk: of a notebook, the part that lies in one cell."""

    cell: int | None
    blocks: tuple[Block, ...]


def parts(before: Text, edits: Sequence[Replacement]) -> tuple[Part, ...]:
    """The hunks of a fix."""
    after = before.patched(edits)
    return tuple(part for hunk in hunks(before.lines, after.lines) for part in _parts(hunk, before, after))


def lone(hunk: Hunk, lead: Sequence[str] = ()) -> Part:
    """A hunk of a text of which nothing else is known; `lead` are lines above it that tell how it is to be read."""
    return Part(None, tuple(_blocks(hunk, _UNKNOWN, _UNKNOWN, lead)))


def _parts(hunk: Hunk, before: Text, after: Text) -> Iterator[Part]:
    for cell, group in groupby(hunk, key=lambda row: _cell(row, before, after)):
        rows = tuple(group)
        if any(row.is_change for row in rows) and (cell is not None or not before.cells):
            first = next((row.before.number for row in rows if row.before is not None), 1)
            yield Part(cell, tuple(_blocks(rows, before, after, before.strings.lead(first))))


def _cell(row: Row, before: Text, after: Text) -> int | None:
    side, text = (row.before, before) if row.before is not None else (row.after, after)
    cell = text.cell(side.number) if side is not None else None
    return cell.number if cell is not None else None


def _blocks(rows: Hunk, before: Text, after: Text, lead: Sequence[str]) -> Iterator[Block]:
    indent = _indent(rows)
    # Both sides begin in the same place, so what is open there on the left is open on the right.
    old = _side([row.before for row in rows], before, indent, lead)
    new = _side([row.after for row in rows], after, indent, lead)
    placed = zip(rows, zip(old, new))
    for is_change, block in groupby(placed, key=lambda one: one[0].is_change):
        yield Block(is_change, tuple(sides for _, sides in block))


def _indent(rows: Hunk) -> str:
    """The white space that all lines begin with, but for those that are empty."""
    texts = [side.text for row in rows for side in (row.before, row.after) if side is not None]
    indents = {text[: len(text) - len(text.lstrip(" \t"))] for text in texts if text.strip()}
    shortest = min(indents, key=len, default="")
    return shortest if all(indent.startswith(shortest) for indent in indents) else ""


def _side(sides: Sequence[Side | None], text: Text, indent: str, lead: Sequence[str]) -> Iterator[Line | None]:
    there = [_without(side, text.shown(side.text), indent) for side in sides if side is not None]
    codes = iter(highlighted([side.text for side in there], [side.changed for side in there], lead))
    for side in sides:
        yield None if side is None else Line(_number(side, text), escape(indent), next(codes))


def _without(side: Side, shown: str, indent: str) -> Side:
    """The line as it is shown, without the indentation; of an empty line nothing is left."""
    width = len(indent)
    changed = [(max(start - width, 0), end - width) for start, end in side.changed if end > width]
    return Side(side.number, shown.removeprefix(indent) if shown.strip() else "", tuple(changed))


def _number(side: Side, text: Text) -> int:
    cell = text.cell(side.number)
    return side.number if cell is None else side.number - cell.first + 1
