"""On which line of a TOML document everything stands: `tomllib`, which reads it, does not say."""

import re
import tomllib
from dataclasses import dataclass

Path = tuple[str | int, ...]
"""The keys that lead to a value, with numbers from 0 for the items of arrays."""

_TOKEN = re.compile(
    r"""
      (?P<newline>\n)
    | (?P<blank>[ \t\r]+ | \#[^\n]*)
    | (?P<string>\"{3}(?:\\.|[^\\])*?\"{3}\"{0,2} | '{3}.*?'{3}'{0,2} | \"(?:\\.|[^\"\\])*\" | '[^']*')
    | (?P<mark>[\[\]{}=,.])
    | (?P<bare>[^\s"'\#=,.\[\]{}]+)
    """,
    re.VERBOSE | re.DOTALL,
)


def lines_of(text: str) -> dict[Path, int]:
    """The line, from 1, of every table, key and item of an array in `text`, which `tomllib` could read."""
    reader = _Reader(text)
    reader.document()
    return reader.lines


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


_END = _Token("end", "", 0)


class _Reader:
    """Knows just enough TOML to say where a valid document's values begin: what they are, `tomllib` says."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {}
        self._tokens = _tokens(text)
        self._next = 0
        self._tables: dict[Path, int] = {}  # how many [[tables]] there are so far, by the name of their array

    def document(self) -> None:
        table: Path = ()
        while self._past_lines() is not _END:
            if self._peek().text == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        line = self._take().line
        is_array = self._peek().text == "["
        if is_array:
            self._take()
        *outer, last = self._key()
        path: Path = ()
        for part in outer:
            path = self._current((*path, part))
            self.lines.setdefault(path, line)
        path = (*path, last)
        self.lines.setdefault(path, line)
        if is_array:
            self._tables[path] = self._tables.get(path, 0) + 1
        path = self._current(path)
        self.lines.setdefault(path, line)
        for _ in range(1 + is_array):
            self._take()
        return path

    def _current(self, path: Path) -> Path:
        """`path`, or where it is an array of tables, its last one so far."""
        return (*path, self._tables[path] - 1) if path in self._tables else path

    def _pair(self, table: Path) -> None:
        line = self._peek().line
        path = table
        for part in self._key():
            path = (*path, part)
            self.lines.setdefault(path, line)
        self._take()
        self._value(path)

    def _key(self) -> list[str]:
        parts = [_name(self._take())]
        while self._past_blanks().text == ".":
            self._take()
            parts.append(_name(self._take()))
        return parts

    def _value(self, path: Path) -> None:
        first = self._past_blanks()
        if first.text == "[":
            self._take()
            self._array(path)
        elif first.text == "{":
            self._take()
            self._inline_table(path)
        else:
            while self._past_blanks().kind in ("string", "bare") or self._peek().text == ".":
                self._take()

    def _array(self, path: Path) -> None:
        number = 0
        while self._past_lines().text != "]":
            self.lines[*path, number] = self._peek().line
            self._value((*path, number))
            number += 1
            if self._past_lines().text == ",":
                self._take()
        self._take()

    def _inline_table(self, path: Path) -> None:
        while self._past_lines().text != "}":
            self._pair(path)
            if self._past_lines().text == ",":
                self._take()
        self._take()

    def _past_lines(self) -> _Token:
        while self._peek().kind in ("newline", "blank"):
            self._next += 1
        return self._peek()

    def _past_blanks(self) -> _Token:
        while self._peek().kind == "blank":
            self._next += 1
        return self._peek()

    def _peek(self) -> _Token:
        return self._tokens[self._next] if self._next < len(self._tokens) else _END

    def _take(self) -> _Token:
        token = self._past_blanks()
        self._next += 1
        return token


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    line = 1
    for match in _TOKEN.finditer(text):
        found.append(_Token(match.lastgroup or "", match[0], line))
        line += match[0].count("\n")
    return found


def _name(token: _Token) -> str:
    return next(iter(tomllib.loads(f"{token.text} = 0"))) if token.kind == "string" else token.text
