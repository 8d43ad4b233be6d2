"""The cells of a notebook, and where their sources stand in its JSON text.

Notebooks of format 4 (https://nbformat.readthedocs.io/en/latest/format_description.html) are read. The values are the
standard library's; only the way to the sources is walked here, since no parser tells positions.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from devfix_codemods.source import SourceError

_WHITE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class ForeignNotebookError(Exception):
    """A notebook of another language. The message says of which."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A JSON string: `text` is what it says, at `start` to `end` with its quotes."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell: its place among all cells, from 1, and the strings that make up its source.

    `start` to `end` is the whole value: one string, or a list of them where `listed` says so.
    """

    number: int
    literals: tuple[Literal, ...]
    start: int
    end: int
    listed: bool

    @property
    def text(self) -> str:
        return "".join(one.text for one in self.literals)


def python_cells(text: str) -> list[Cell]:
    """The cells of the notebook `text` that hold Python, or may.

    Raises:
        ForeignNotebookError: its kernel speaks another language.
        SourceError: it is no notebook, or of an old format.
    """
    try:
        document = json.loads(text)
        _refuse_unless_readable(document)
        return list(_code_cells(text, document))
    except (ValueError, RecursionError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"not a notebook: no valid JSON: {error}") from error


def _refuse_unless_readable(document: Any) -> None:
    if not isinstance(document, dict):
        raise SourceError("not a notebook: the JSON is no object")
    if document.get("nbformat") != 4 or not isinstance(document.get("cells"), list):
        raise SourceError(f"a notebook of format {document.get('nbformat')}; only format 4 is read")
    language = _language(document.get("metadata"))
    if language not in {"", "python"}:
        raise ForeignNotebookError(f"a notebook of {language}")


def _language(metadata: Any) -> str:
    """What the notebook is written in; nothing where it does not say."""
    for table, key in (("language_info", "name"), ("kernelspec", "language")):
        found = metadata.get(table) if isinstance(metadata, dict) else None
        name = found.get(key) if isinstance(found, dict) else None
        if isinstance(name, str):
            return "python" if name.lower() in {"python", "ipython", "python3"} else name
    return ""


def _code_cells(text: str, document: dict[str, Any]) -> Iterator[Cell]:
    start = next(start for key, start, _ in _members(text, _after_white(text, 0)) if key == "cells")
    for number, ((at, _), cell) in enumerate(zip(_elements(text, start), document["cells"]), 1):
        if _is_python(cell):
            value, end = next((start, end) for key, start, end in _members(text, at) if key == "source")
            listed = text[value] == "["
            strings = _elements(text, value) if listed else [(value, end)]
            literals = tuple(Literal(first, last, json.loads(text[first:last])) for first, last in strings)
            yield Cell(number, literals, value, end, listed)


def _is_python(cell: Any) -> bool:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return False
    source = cell.get("source")
    parts = source if isinstance(source, list) else [source]
    if not all(isinstance(part, str) for part in parts):
        raise SourceError("not a notebook: the source of a cell is no text")
    metadata = cell.get("metadata")
    editor = metadata.get("vscode") if isinstance(metadata, dict) else None
    return not isinstance(editor, dict) or editor.get("languageId", "python") == "python"


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Key, start and end of each value of the object at `at`, of JSON that is known to be valid."""
    at = _after_white(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _after_white(text, _after_white(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield key, start, end
        at = _after_comma(text, end)


def _elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Start and end of each element of the list at `at`."""
    at = _after_white(text, at + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _after_comma(text, end)


def _after_comma(text: str, at: int) -> int:
    at = _after_white(text, at)
    return _after_white(text, at + 1) if text[at] == "," else at


def _after_white(text: str, at: int) -> int:
    found = _WHITE.match(text, at)
    assert found is not None  # it matches nothing, too
    return found.end()
