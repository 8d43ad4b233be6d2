"""Code as the screen shows it: with syntax colours, what changed marked, and nothing that a terminal would act on."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

from devfix.reporting.sidebyside import Range, Side
from devfix.reporting.terminal import shown_at
from devfix.review.changes import Block
from devfix.review.documents import Item
from pygments.token import Token
from textual.content import Content
from textual.highlight import HighlightTheme, highlight

_BACKGROUND = {"-": "on $error 18%", "+": "on $success 18%"}
_GONE, _COME = "on $error 50%", "on $success 50%"
_SINK = "underline"
_GUTTER = "dim"
_LEAST_SIDE = 20
_STRING = re.compile(r"#[^\n]*|(\"\"\"|''')(?:\\.|.)*?(?:\1|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)


class _Theme(HighlightTheme):
    STYLES = HighlightTheme.STYLES | {
        Token.Name.Function: "$text-warning",
        Token.Name.Function.Magic: "$text-warning",
        Token.Operator: "",
        Token.Keyword.Namespace: "$text-accent",
        Token.Error: "",
        Token.Name: "",
    }


@dataclass(frozen=True)
class _Shown:
    """A line on one side, made harmless; `positions` are where its characters have come to stand."""

    content: Content
    positions: tuple[int, ...]

    def marked(self, ranges: Sequence[Range], style: str) -> Content:
        content, last = self.content, len(self.positions) - 1
        for start, end in ranges:
            content = content.stylize(style, self.positions[min(start, last)], self.positions[min(end, last)])
        return content


def unified(item: Item, found: Sequence[Block], width: int) -> Content:
    """The change as one column."""
    return Content("\n").join(_Painter(item, found, width).one_column())


def side_by_side(item: Item, found: Sequence[Block], width: int) -> Content:
    """The change as two columns; as one where they would be too narrow."""
    painter = _Painter(item, found, (width - 1) // 2)
    if painter.room < _LEAST_SIDE:
        return unified(item, found, width)
    return Content("\n").join(painter.two_columns())


def harmless(text: str) -> str:
    """`text` as one line in which every character shows and tabs are blanks."""
    return _expanded(text)[0]


def snippet(lines: Sequence[str]) -> list[Content]:
    """Lines of Python in colours."""
    return _lexed([harmless(line) for line in lines])


class _Painter:
    """Draws the rows of one fix in columns of `width` cells."""

    def __init__(self, item: Item, found: Sequence[Block], width: int) -> None:
        self._item = item
        self._found = found
        self._width = width
        self._gutter = _gutter(found)
        self.room = max(width - self._gutter - 3, 1)

    def one_column(self) -> Iterator[Content]:
        for index, block in enumerate(self._found):
            yield from self._heading(block, index)
            old, new = self._sides(block)
            for is_change, rows in groupby(block.rows, key=lambda row: row.is_change):
                members = list(rows)
                for row in members:
                    if row.before is not None:
                        yield from self._line(block, old[row.before.number], row.before, "-" if is_change else " ")
                for row in members:
                    if is_change and row.after is not None:
                        yield from self._line(block, new[row.after.number], row.after, "+")

    def two_columns(self) -> Iterator[Content]:
        empty = Content(" " * self._width)
        for index, block in enumerate(self._found):
            yield from self._heading(block, index)
            old, new = self._sides(block)
            for row in block.rows:
                left, right = row.before, row.after
                before = self._line(block, old[left.number], left, "-" if row.is_change else " ") if left else []
                after = self._line(block, new[right.number], right, "+" if row.is_change else "") if right else []
                for pair in zip_longest(before, after, fillvalue=empty):
                    yield Content.assemble(pair[0], ("│", _GUTTER), pair[1])

    def _heading(self, block: Block, index: int) -> list[Content]:
        if block.cell is not None:
            return [Content.styled(f"cell {block.cell}", _GUTTER)]
        return [Content.styled("···", _GUTTER)] if index else []

    def _sides(self, block: Block) -> tuple[dict[int, _Shown], dict[int, _Shown]]:
        old = [row.before for row in block.rows if row.before is not None]
        new = [row.after for row in block.rows if row.after is not None]
        lead = _begun(self._item.document.lines, old[0].number) if old else ""
        return _coloured(old, lead), _coloured(new, lead)

    def _line(self, block: Block, shown: _Shown, side: Side, sign: str) -> list[Content]:
        """A line with its number and sign, folded and filled up to the width. Without a sign it stands on the right."""
        content = shown.marked(side.changed, {"-": _GONE, "+": _COME}.get(sign, ""))
        if sign in ("-", " "):
            content = _Shown(content, shown.positions).marked(_sink(self._item, side), _SINK)
        folded = content.fold(self.room) or [Content("")]
        number = block.number(side, sign in ("+", ""))
        heads = [f"{number:{self._gutter}} {sign or ' '} ", *[" " * (self._gutter + 3)] * (len(folded) - 1)]
        lines = []
        for head, part in zip(heads, folded, strict=True):
            whole = Content.assemble((head, _GUTTER), part.pad_right(max(self.room - part.cell_length, 0)))
            lines.append(whole.stylize_before(_BACKGROUND[sign]) if sign in _BACKGROUND else whole)
        return lines


def _sink(item: Item, side: Side) -> list[Range]:
    """The characters of the line that the finding is about."""
    span = item.problem.span
    if not span.line <= side.number <= span.end_line:
        return []
    start = span.column if side.number == span.line else len(side.text) - len(side.text.lstrip())
    end = span.end_column if side.number == span.end_line else len(side.text)
    return [(start, end)] if start < end else []


def _coloured(sides: Sequence[Side], lead: str) -> dict[int, _Shown]:
    """The lines of one side, coloured together. `lead` opens the string that they begin in, if they do."""
    expanded = [_expanded(side.text) for side in sides]
    coloured = _lexed([lead, *(shown for shown, _ in expanded)])[1:]
    lines = zip(sides, coloured, expanded, strict=True)
    return {side.number: _Shown(content, positions) for side, content, (_, positions) in lines}


def _lexed(lines: Sequence[str]) -> list[Content]:
    text = "\n".join([*lines, "#"])  # the library drops blank lines at the end
    return highlight(text, language="python", theme=_Theme).split("\n")[:-1]


def _begun(lines: Sequence[str], number: int) -> str:
    """The quotes of the string over several lines in which the line `number` begins; empty where it begins in none."""
    text = "\n".join(lines[: number - 1]) + "\n"
    for found in _STRING.finditer(text):
        if found.group(1) and found.end() == len(text):
            return found.group(1)
    return ""


def _expanded(text: str) -> tuple[str, tuple[int, ...]]:
    shown, positions = "", [0]
    for letter in text:
        shown += shown_at(letter, len(shown))
        positions.append(len(shown))
    return shown, tuple(positions)


def _gutter(found: Sequence[Block]) -> int:
    numbers = [
        block.number(side, is_after)
        for block in found
        for row in block.rows
        for side, is_after in ((row.before, False), (row.after, True))
        if side is not None
    ]
    return len(str(max(numbers, default=1)))
