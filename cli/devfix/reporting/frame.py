"""The offending lines with what matters underlined, and the lines that a fix would change."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from devfix_codemods.source import Span

from devfix.reporting.terminal import Line, Piece, cells_of, shown_at, visible
from devfix.results import Cell, Problem, Replacement, place_in

Opcode = tuple[str, int, int, int, int]
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Mark:
    """A range to underline with `sign`, and what to write beside it."""

    span: Span
    sign: str
    style: str
    label: str

    def columns(self, text: str) -> tuple[int, int]:
        """First and last character in `text`, the line where the range begins."""
        end = self.span.end_column if self.span.end_line == self.span.line else len(text)
        return self.span.column, max(end, self.span.column + 1)


def code_frame(lines: Sequence[str], problem: Problem, width: int) -> list[Line]:
    """The lines of the sink (`^^^^`), of the origin and of every stop of the trail here (`----`), in source order.

    In a notebook, the number of each cell stands above its lines.
    """
    marks = [mark for mark in marks_of(problem) if mark.span.line <= len(lines)]
    numbers = sorted({mark.span.line for mark in marks})
    gutter = max((len(str(problem.place(number)[1])) for number in numbers), default=1)
    frame: list[Line] = [_gutter(gutter)]
    previous: int | None = None
    for number in numbers:
        cell, shown = problem.place(number)
        if cell is not None and (previous is None or problem.place(previous)[0] != cell):
            frame.append(_cell_line(cell, gutter))
        elif previous is not None:
            frame += _gap(lines, previous, number, shown, gutter, width)
        frame += _marked_line(lines[number - 1], shown, [m for m in marks if m.span.line == number], gutter, width)
        previous = number
    return frame


def marks_of(problem: Problem) -> list[Mark]:
    """What is underlined: the sink in its own way, all other places once each."""
    labels: dict[Span, list[str]] = {}
    for note in problem.own_trail:
        labels.setdefault(note.span, []).append(note.text)
    if problem.origin is not None:
        labels.setdefault(problem.origin, [])
    sink = Mark(problem.span, "^", "sink", "; ".join(labels.pop(problem.span, [])))
    return [sink, *(Mark(span, "-", "note", "; ".join(texts)) for span, texts in labels.items())]


def fix_frame(text: str, edits: Iterable[Replacement], width: int, cells: Sequence[Cell] = ()) -> list[Line]:
    """The lines that the repair takes away and those that it brings, each with its number in its own file or cell."""
    before, after = split_lines(text), split_lines(apply(text, edits))
    opcodes = _opcodes(before, after)
    starts = _cells_after(cells, opcodes)
    gutter = len(str(max(len(before), len(after))))
    frame: list[Line] = []
    at: int | None = None
    for tag, old, old_end, new, new_end in opcodes:
        if tag == "equal":
            continue
        cell = place_in(cells, old + 1)[0]
        first, first_after = starts.get(cell, (1, 1))
        if cell is not None and cell != at:
            frame.append(_cell_line(cell, gutter))
        at = cell
        if tag == "insert" and old >= first:
            frame.append(_changed_line(before[old - 1], old - first + 1, " ", gutter, width))
        taken, brought = range(old, old_end), range(new, new_end)
        frame += [_changed_line(before[number], number - first + 2, "-", gutter, width) for number in taken]
        frame += [_changed_line(after[number], number - first_after + 2, "+", gutter, width) for number in brought]
    return frame


def _opcodes(before: Sequence[str], after: Sequence[str]) -> list[Opcode]:
    """What became of the lines. Only those between the first and the last one that changed are compared."""
    shorter = min(len(before), len(after))
    head = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    most = shorter - head
    tail = next((at for at in range(most) if before[-1 - at] != after[-1 - at]), most)
    old, new = len(before) - tail, len(after) - tail
    changed = difflib.SequenceMatcher(None, before[head:old], after[head:new]).get_opcodes()
    return [
        ("equal", 0, head, 0, head),
        *((tag, i + head, i_end + head, j + head, j_end + head) for tag, i, i_end, j, j_end in changed),
        ("equal", old, len(before), new, len(after)),
    ]


def _cells_after(cells: Sequence[Cell], opcodes: Iterable[Opcode]) -> dict[int | None, tuple[int, int]]:
    """The lines at which each cell begins before and after, by its number; what comes before a cell stays."""
    return {
        cell.number: (cell.first, cell.first + new - old)
        for _, old, old_end, new, _ in (code for code in opcodes if code[0] == "equal")
        for cell in cells
        if old < cell.first - 1 <= old_end
    }


def apply(text: str, edits: Iterable[Replacement]) -> str:
    """`text` with the replacements made; those beyond its end, of a file that shrank meanwhile, are left out."""
    starts = _starts(text)
    inside = [edit for edit in edits if edit.span.end_line <= len(starts)]
    for edit in sorted(inside, key=lambda edit: edit.span.start, reverse=True):
        start = starts[edit.span.line - 1] + edit.span.column
        end = starts[edit.span.end_line - 1] + edit.span.end_column
        text = text[:start] + edit.text + text[end:]
    return text


def _starts(text: str) -> list[int]:
    """Where each line begins."""
    if "\r" in text:
        return [0, *(end.end() for end in _LINE_END.finditer(text))]
    return list(accumulate((len(line) + 1 for line in text.split("\n")[:-1]), initial=0))


def split_lines(text: str) -> list[str]:
    """The lines as the parser counts them: a form feed ends none."""
    return _LINE_END.split(text) if "\r" in text else text.split("\n")


def _gap(lines: Sequence[str], previous: int, number: int, shown: int, gutter: int, width: int) -> list[Line]:
    """Between two marked lines: nothing, the one line between them, or an ellipsis. The second is `shown` as that."""
    if number == previous + 1:
        return []
    if number == previous + 2:
        return [_source_line(lines[previous], shown - 1, gutter, width)]
    return [[("..." if gutter > 1 else "..", "gutter")]]


def _marked_line(text: str, number: int, marks: list[Mark], gutter: int, width: int) -> list[Line]:
    marks = sorted(marks, key=lambda mark: mark.columns(text))
    shown = _Window.around(text, marks[0].columns(text)[0], width - gutter - 3)
    rows = [
        _source_line(shown.text, number, gutter, width),
        [*_gutter(gutter), (" ", ""), *_underline(shown, text, marks)],
    ]
    for mark in reversed(marks[:-1]):
        if mark.label:
            indent = " " * shown.cell(mark.columns(text)[0])
            rows.append([*_gutter(gutter), (f" {indent}{visible(mark.label)}", mark.style)])
    return rows


def _underline(shown: "_Window", text: str, marks: list[Mark]) -> list[Piece]:
    """One row for all marks of a line; the last one's label stands beside it."""
    row: list[tuple[str, str]] = [(" ", "")] * shown.cell(len(text))
    for start, end, mark in sorted(((*mark.columns(text), mark) for mark in marks), key=_widest_first):
        first, last = shown.cell(start), max(shown.cell(end), shown.cell(start) + 1)
        row += [(" ", "")] * (last - len(row))
        row[first:last] = [(mark.sign, mark.style)] * (last - first)
    while row and row[-1][0] == " ":
        row.pop()
    return [*row, (f" {visible(marks[-1].label)}", marks[-1].style)]


def _widest_first(drawn: tuple[int, int, Mark]) -> int:
    start, end, _ = drawn
    return start - end


@dataclass(frozen=True)
class _Window:
    """The part of a line that fits, as it is shown. `cells` has the column on the screen of each character of the
    whole line, and one more for its end."""

    text: str
    cells: tuple[int, ...]

    def cell(self, column: int) -> int:
        return self.cells[min(column, len(self.cells) - 1)]

    @staticmethod
    def around(line: str, column: int, width: int) -> "_Window":
        """The window of `line` in which the character at `column` shows."""
        start = column - width // 3 if len(line) > width and column > width * 2 // 3 else 0
        parts: list[str] = ["…"] if start else []
        cells: list[int] = [0] * start
        position = len(parts)
        for index in range(start, len(line)):
            shown = shown_at(line[index], position)
            cells.append(position)
            if position + cells_of(shown) >= width and index < len(line) - 1:
                parts.append("…")
                break
            parts.append(shown)
            position += cells_of(shown)
        return _Window("".join(parts), tuple(cells + [position] * (len(line) + 1 - len(cells))))


def _gutter(width: int) -> Line:
    return [(f"{'':{width}} |", "gutter")]


def _cell_line(cell: int, gutter: int) -> Line:
    return [(f"{'':{gutter}} | cell {cell}", "gutter")]


def _source_line(text: str, number: int, gutter: int, width: int) -> Line:
    shown = _Window.around(text, 0, width - gutter - 3).text
    return [(f"{number:{gutter}} |", "gutter"), (f" {shown}", "")]


def _changed_line(text: str, number: int, sign: str, gutter: int, width: int) -> Line:
    style = {"-": "removed", "+": "added"}.get(sign, "faint")
    shown = _Window.around(text, 0, width - gutter - 3).text
    return [(f"{number:{gutter}} ", "gutter"), (f"{sign} {shown}", style)]
