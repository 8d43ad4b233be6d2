"""One notebook as one program: its Python cells below one another, each after a comment that names it."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count

from devfix_codemods.notebooks.cells import Cell, python_cells
from devfix_codemods.notebooks.magics import masked, unmasked
from devfix_codemods.source import Source, SourceError

SUFFIX = ".ipynb"
_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Part:
    """A cell of the program: it begins at the line `first`, and is written `text` there."""

    cell: Cell
    text: str
    first: int


@dataclass(frozen=True)
class Notebook:
    """A notebook and its program. `hidden` are the lines that are no Python; `token` marks what devfix put in."""

    path: str
    mark: bytes
    document: str
    parts: tuple[Part, ...]
    hidden: tuple[str, ...]
    token: str

    @cached_property
    def source(self) -> Source:
        """The program.

        Raises:
            SourceError: a cell holds half a character, which no encoding has.
        """
        try:
            return Source(self.path, "".join(f"# {self._marker(one)}\n\n{one.text}\n" for one in self.parts).encode())
        except UnicodeEncodeError as error:
            raise SourceError(f"not valid utf-8: {error.reason}") from error

    def place(self, line: int) -> tuple[int, int]:
        """The number of the cell, and its first line in the program, around a line of the program.

        Lines between two cells belong to the first one.
        """
        firsts = [part.first for part in self.parts]
        part = self.parts[max(bisect_right(firsts, line) - 1, 0)]
        return part.cell.number, part.first

    def written(self, program: bytes) -> bytes:
        """The notebook with the cells as `program` has them; all else stays byte for byte.

        Raises:
            ValueError: a cell or a magic would get lost.
        """
        from devfix_codemods.notebooks.literals import source_of  # with all that writes, which reading has no use for

        pieces, end = [], 0
        texts = dict(self._texts(program.decode()))
        for part in self.parts:
            cell, text = part.cell, texts[part.cell.number]
            if text != cell.text:
                pieces += [self.document[end : cell.start], source_of(self.document, cell, text)]
                end = cell.end
        document = "".join([*pieces, self.document[end:]])
        if any(texts.get(cell.number, cell.text) != cell.text for cell in python_cells(document)):
            raise ValueError("the notebook does not say what was to be written")
        return self.mark + document.encode()

    def _texts(self, program: str) -> Iterator[tuple[int, str]]:
        """The source of each cell, by its number."""
        markers = (re.escape(self._marker(part)) for part in self.parts)
        text = unmasked(program, self.token, self.hidden)
        found = re.fullmatch("".join(f"# {marker}\n(.*?)" for marker in markers), text, re.DOTALL)
        if found is None:
            raise ValueError("a cell would get lost")
        for part, piece in zip(self.parts, found.groups(), strict=True):
            yield part.cell.number, _like(part.cell.text, piece.removeprefix("\n").removesuffix("\n"))

    def _marker(self, part: Part) -> str:
        return f"{self.token}cell {part.cell.number}"


def is_notebook(path: str) -> bool:
    """Whether a file of that name is a notebook."""
    return path.endswith(SUFFIX)


def may_use_torch(data: bytes) -> bool:
    """Whether the bytes of a notebook, in which what the cells say is escaped, can concern any rule."""
    return b"torch" in data or b"transformers" in data


@lru_cache(maxsize=2)
def read(path: str, data: bytes) -> Notebook:
    """The notebook that `data` is.

    Raises:
        ForeignNotebookError: it is of another language.
        SourceError: it is no notebook, or a cell of it is no Python.
    """
    mark = _MARK if data.startswith(_MARK) else b""
    try:
        document = data[len(mark) :].decode()
    except UnicodeDecodeError as error:
        raise SourceError(f"not valid utf-8 at byte {error.start}: {error.reason}") from error
    cells = python_cells(document)
    token = _token(cell.text for cell in cells)
    parts: list[Part] = []
    hidden: list[str] = []
    line = 1
    for cell in cells:
        python = _python_of(cell, token, len(hidden))
        if python is not None:
            text, lines = python
            hidden += lines
            parts.append(Part(cell, text, line + 2))
            line += 3 + len(_LINE_END.findall(text))
    return Notebook(path, mark, document, tuple(parts), tuple(hidden), token)


def changed_cells(path: str, before: bytes, after: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Number, old and new source of each cell that differs between two states of a notebook, ended by a line end."""
    pairs = zip(read(path, before).parts, read(path, after).parts, strict=True)
    for old, new in ((one.cell, other.cell) for one, other in pairs):
        if old.text != new.text:
            yield old.number, _ended(old.text), _ended(new.text)


def _ended(text: str) -> bytes:
    return (text if text.endswith("\n") else f"{text}\n").encode()


def _python_of(cell: Cell, token: str, first: int) -> tuple[str, tuple[str, ...]] | None:
    try:
        found = masked(cell.text, token, first)
    except SyntaxError as error:
        raise SourceError(f"cell {cell.number}: syntax error: {error.msg} (line {error.lineno or 1})") from error
    return None if found is None else (found.text, found.hidden)


def _token(texts: Iterable[str]) -> str:
    """What occurs in none of the cells."""
    whole = "\n".join(texts)
    return next(token for number in count() if (token := f"%% {number or ''}devfix ") not in whole)


def _like(old: str, new: str) -> str:
    """`new`, its line ends and its last one as those of `old`."""
    if not old.endswith("\n"):
        new = new.rstrip("\r\n")
    if "\r\n" in old and "\n" not in old.replace("\r\n", ""):
        new = re.sub(r"(?<!\r)\n", "\r\n", new)
    return new
