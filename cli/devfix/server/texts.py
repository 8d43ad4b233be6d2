"""What the editor has open: texts that the disk may not have yet, and where their characters are for the client."""

import io
import os
import tokenize
from dataclasses import dataclass
from functools import cached_property

from devfix_codemods.source import Source, Span
from lsprotocol import types
from pygls.uris import to_fs_path, uri_scheme
from pygls.workspace import PositionCodec, ServerTextPosition, ServerTextRange

from devfix.reporting.frame import split_lines

_BOM = "\ufeff"


@dataclass(frozen=True)
class Positions:
    """Spans of one text as ranges in the client's units. `shift` is how far the first line is set in."""

    lines: list[str]
    codec: PositionCodec
    shift: int = 0

    def range(self, span: Span) -> types.Range:
        start = self._position(span.line, span.column)
        end = self._position(span.end_line, span.end_column)
        return self.codec.range_to_client_units(self.lines, ServerTextRange(start, end))

    def _position(self, line: int, column: int) -> ServerTextPosition:
        return ServerTextPosition(line - 1, column + (self.shift if line == 1 else 0))


@dataclass(frozen=True)
class OpenText:
    """One version of a document. `path` is absolute with links resolved, None for what has no file yet."""

    uri: str
    path: str | None
    version: int | None
    text: str

    @property
    def label(self) -> str:
        return self.path or "untitled.py"

    @cached_property
    def data(self) -> bytes | None:
        """The bytes that a file with this text has; None where its encoding lacks one of the characters."""
        text = self.text.removeprefix(_BOM)
        try:
            return text.encode(_encoding(text))
        except (UnicodeError, LookupError):
            return None

    def positions(self, codec: PositionCodec) -> Positions:
        return Positions(split_lines(self.text), codec, int(self.text.startswith(_BOM)))


def path_of(uri: str) -> str | None:
    """The file of a document, links resolved; None for one that is not saved yet."""
    path = to_fs_path(uri)
    return None if path is None else os.path.realpath(path)


def is_python(uri: str, language: str | None) -> bool:
    """Whether devfix looks at such a document: Python, and no cell of a notebook."""
    if uri_scheme(uri) == "vscode-notebook-cell" or uri.endswith(".ipynb"):
        return False
    return language == "python" or uri.endswith(".py")


def positions_in(path: str, data: bytes, codec: PositionCodec) -> Positions | None:
    """The positions of a file that is not open; None where it does not decode."""
    try:
        return Positions(list(Source(path, data).lines), codec)
    except ValueError:
        return None


def _encoding(text: str) -> str:
    try:
        return tokenize.detect_encoding(io.BytesIO(text.encode()).readline)[0]
    except SyntaxError:  # an unknown cookie: the analysis says the same
        return "utf-8"
