"""A file as the page shows it: its lines, and in a notebook the cells that they lie in."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from devfix_codemods.notebooks.cells import ForeignNotebookError
from devfix_codemods.notebooks.notebook import Notebook, is_notebook, read
from devfix_codemods.source import Source, SourceError

from devfix.reporting.frame import apply, split_lines
from devfix.reporting.html.code import Strings
from devfix.results import Replacement

_HEAD = 2
"""Lines of a notebook's program that stand before each cell: a comment that names it, and an empty one."""


@dataclass(frozen=True)
class CellLines:
    """A cell of a notebook, and its first and last line in the notebook's program."""

    number: int
    first: int
    last: int


@dataclass(frozen=True)
class Text:
    """The text of a file, of a notebook that of its program.

    `magics` are the lines of a notebook that are no Python, by those that stand for them in its program.
    """

    text: str
    cells: tuple[CellLines, ...] = ()
    magics: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def lines(self) -> list[str]:
        return split_lines(self.text)

    @cached_property
    def strings(self) -> Strings:
        return Strings(self.lines)

    def shown(self, line: str) -> str:
        """A line of the text as its author wrote it."""
        return self.magics.get(line, line)

    def cell(self, line: int) -> CellLines | None:
        """The cell that a line lies in; None between cells, and where there are none."""
        return next((one for one in self.cells if one.first <= line <= one.last), None)

    def patched(self, edits: Sequence[Replacement]) -> "Text":
        """The text with the edits applied. What stands before a cell is never edited, so cells are found again."""
        text = apply(self.text, edits)
        lines = split_lines(text)
        heads = [lines.index(self.lines[cell.first - 1 - _HEAD]) for cell in self.cells]
        ends = [*heads[1:], len(lines) - 1]
        cells = [CellLines(cell.number, head + 1 + _HEAD, end) for cell, head, end in zip(self.cells, heads, ends)]
        return Text(text, tuple(cells), self.magics)


def text_of(label: str, data: bytes) -> Text | None:
    """The text of a file of that name; None where it is none."""
    try:
        if not is_notebook(label):
            return Text(Source(label, data).text)
        notebook = read(label, data)
        return Text(notebook.source.text, tuple(_cells(notebook)), _magics(notebook))
    except (SourceError, ForeignNotebookError):
        return None


def _cells(notebook: Notebook) -> list[CellLines]:
    firsts = [part.first for part in notebook.parts]
    lasts = [first - 1 - _HEAD for first in firsts[1:]] + [len(split_lines(notebook.source.text)) - 1]
    return [CellLines(part.cell.number, part.first, last) for part, last in zip(notebook.parts, lasts)]


def _magics(notebook: Notebook) -> dict[str, str]:
    stands_for = re.compile(rf"# {re.escape(notebook.token)}(\d+)$")
    lines = split_lines(notebook.source.text)
    return {line: notebook.hidden[int(found[1])] for line in lines if (found := stands_for.search(line))}
