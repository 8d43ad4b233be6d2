"""A file's bytes, and the text that Python sees in them.

Bytes come in and bytes go out: a byte order mark, an encoding cookie, CRLF line ends and a missing last newline are
part of the user's file and survive.
"""

import ast
import io
import re
import tokenize
import warnings
from codecs import BOM_UTF8
from dataclasses import dataclass, field
from functools import cached_property

from devfix_codemods.annotated import unified

_LINE_END = re.compile(r"\r\n|\r|\n")
_ASCII = bytes(range(0x80)) + b"?" * 0x80


class SourceError(ValueError):
    """The bytes are no Python source. The message is one line that names the reason."""


def parses(data: bytes) -> bool:
    """Whether the bytes are Python that this interpreter can parse.

    To compile them costs three quarters of a syntax tree, whose nodes would become objects, and refuses a little more,
    such as a `return` outside of functions.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, "<file>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of source text: lines from 1, columns in characters from 0, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def start(self) -> tuple[int, int]:
        return (self.line, self.column)

    @property
    def end(self) -> tuple[int, int]:
        return (self.end_line, self.end_column)

    def contains(self, other: "Span") -> bool:
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True)
class Source:
    """One Python file. `path` is only a label for messages; nothing here opens a file."""

    path: str
    data: bytes = field(repr=False)

    @cached_property
    def encoding(self) -> str:
        """The encoding by PEP 263, without the byte order mark's own.

        Raises:
            SourceError: the cookie names no known encoding, or contradicts the byte order mark.
        """
        lines = io.BytesIO(self.data)
        mark = lines.read(len(BOM_UTF8)) if self.data.startswith(BOM_UTF8) else b""
        told = iter((mark + lines.readline().translate(_ASCII), lines.readline().translate(_ASCII)))
        try:  # what stands beside a cookie is written in its encoding, and detect_encoding refuses all but UTF-8 there
            return tokenize.detect_encoding(lambda: next(told, b""))[0]
        except SyntaxError as error:
            raise SourceError(f"unknown or contradictory encoding: {error.msg}") from error

    @cached_property
    def text(self) -> str:
        """The decoded text with its line ends untouched.

        Raises:
            SourceError: the bytes do not decode.
        """
        encoding = self.encoding
        try:
            return self.data.decode(encoding)
        except UnicodeDecodeError as error:
            raise SourceError(f"not valid {encoding} at byte {error.start}: {error.reason}") from error
        except (LookupError, ValueError) as error:  # codecs that are no text encoding, or take part of a text only
            raise SourceError(f"not valid {encoding}: {error}") from error

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The physical lines without their ends, as `ast` counts them (form feeds do not end a line)."""
        return tuple(_LINE_END.split(self.text))

    @cached_property
    def newline(self) -> str:
        """The file's first line end, or a line feed where it has none."""
        found = _LINE_END.search(self.text)
        return found.group() if found else "\n"

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree of the standard library.

        Raises:
            SourceError: the text is not Python that this interpreter can parse.
        """
        text = self.text
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # invalid escapes in the user's strings are the user's business
                return unified(ast.parse(text, filename=self.path))
        except SyntaxError as error:
            raise SourceError(f"syntax error: {error.msg} (line {error.lineno or 1})") from error
        except ValueError as error:
            raise SourceError(f"not Python source: {error}") from error
        except (RecursionError, MemoryError) as error:
            raise SourceError("nested too deeply to be parsed") from error

    def span(self, node: ast.AST) -> Span:
        """The range of `node`, its columns turned from UTF-8 bytes into characters."""
        line, end_line = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        return Span(
            line,
            self._characters(line, node.col_offset),  # type: ignore[attr-defined]
            end_line,
            self._characters(end_line, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def segment(self, span: Span) -> str:
        """The text inside `span`, line ends as in the file's first line."""
        if span.line == span.end_line:
            return self.lines[span.line - 1][span.column : span.end_column]
        first, *rest = self.lines[span.line - 1 : span.end_line]
        last = rest.pop()
        return self.newline.join([first[span.column :], *rest, last[: span.end_column]])

    def _characters(self, line: int, column: int) -> int:
        text = self.lines[line - 1]
        if text.isascii():
            return column
        return len(text.encode("utf-8")[:column].decode("utf-8"))
