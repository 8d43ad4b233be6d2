"""A diff in two columns for a terminal: what was on the left, what will be on the right."""

from collections.abc import Iterator
from itertools import zip_longest

from devfix_codemods.notebooks.notebook import changed_cells, is_notebook
from devfix_codemods.source import Source, SourceError

from devfix.reporting.frame import split_lines
from devfix.reporting.sidebyside import Row, Side, hunks
from devfix.reporting.terminal import Line, Piece, cells_of, shown_at, visible

_LEAST = 20
"""Columns of text narrower than this are cut off by the terminal rather than folded."""


def side_by_side(name: str, before: bytes, after: bytes, width: int) -> list[Line]:
    """The changes of a file, or of each changed cell of a notebook, in lines of at most `width` columns."""
    if not is_notebook(name):
        return [*_part(name, _text(name, before), _text(name, after), width)]
    return [
        line
        for cell, old, new in changed_cells(name, before, after)
        for line in _part(f"{name}:cell {cell}", old.decode("utf-8", "replace"), new.decode("utf-8", "replace"), width)
    ]


def _text(name: str, data: bytes) -> str:
    try:
        return Source(name, data).text
    except SourceError:
        return data.decode("utf-8", "replace")


def _part(name: str, before: str, after: str, width: int) -> Iterator[Line]:
    old, new = _lines(before), _lines(after)
    gutter = len(str(max(len(old), len(new))))
    room = max((width - 3) // 2 - gutter - 3, _LEAST)
    yield [(visible(name), "path")]
    for number, hunk in enumerate(hunks(old, new)):
        yield [("─" * (gutter + 4 + room) + ("┼" if number else "┬") + "─" * (gutter + 4 + room), "gutter")]
        for row in hunk:
            yield from _row(row, gutter, room)
    yield []


def _lines(text: str) -> list[str]:
    *whole, rest = split_lines(text)
    return [*whole, rest] if rest else whole


def _row(row: Row, gutter: int, room: int) -> Iterator[Line]:
    """The lines on the screen of one row: as many as its longer side needs."""
    left = _column(row.before, "-", "removed" if row.is_change else "", gutter, room)
    right = _column(row.after, "+", "added" if row.is_change else "", gutter, room)
    empty: list[Piece] = [(" " * (gutter + 3), "")]
    for old, new in zip_longest(left, right, fillvalue=empty):
        padding = " " * (gutter + 3 + room - sum(cells_of(text) for text, _ in old))
        yield [*old, (f"{padding} │ ", "gutter"), *new]


def _column(side: Side | None, sign: str, kind: str, gutter: int, room: int) -> Iterator[list[Piece]]:
    """A side with its number and its sign before its first row."""
    number = str(side.number) if side is not None else ""
    for count, row in enumerate(_folded(side, kind, room)):
        shown = (number, sign if kind and side is not None else "") if count == 0 else ("", "")
        yield [(f"{shown[0]:>{gutter}} ", "gutter"), (f"{shown[1]:1} ", kind), *row]


def _folded(side: Side | None, kind: str, room: int) -> list[list[Piece]]:
    """The text of a side in rows of at most `room` columns, what changed in it in a style of its own."""
    if side is None:
        return [[]]
    rows: list[list[Piece]] = [[]]
    used = 0
    for number, letter in enumerate(side.text):
        shown = shown_at(letter, used)
        is_part = bool(kind) and any(start <= number < end for start, end in side.changed)
        if used + cells_of(shown) > room:
            rows.append([])
            used = 0
        used += cells_of(shown)
        _append(rows[-1], shown, f"{kind} part" if is_part else kind)
    return rows


def _append(row: list[Piece], text: str, style: str) -> None:
    if row and row[-1][1] == style:
        row[-1] = (row[-1][0] + text, style)
    else:
        row.append((text, style))
