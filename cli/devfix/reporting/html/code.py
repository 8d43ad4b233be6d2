"""Lines of code as markup: with syntax colours, with what matters in them marked, and with nothing hidden in them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from markupsafe import Markup, escape
from pygments.lexers.python import PythonLexer
from pygments.token import Token, _TokenType, is_token_subtype

from devfix.reporting.sidebyside import Range
from devfix.reporting.terminal import visible

LONGEST = 400
"""Of a longer line, this many characters around what matters in it are shown."""

Piece = tuple[str, str]
"""The class of a piece of code, which is empty for most, and its text."""

_CLASSES: dict[_TokenType, str] = {
    Token.Comment: "c",
    Token.Keyword: "k",
    Token.Literal.Number: "m",
    Token.Literal.String: "s",
    Token.Name.Builtin: "b",
    Token.Name.Class: "f",
    Token.Name.Decorator: "d",
    Token.Name.Function: "f",
    Token.Operator.Word: "k",
}
_LEXER = PythonLexer()
_STRINGS = re.compile(
    r'''#[^\n]*|(?P<quotes>"""|\'\'\')(?:\\.|[^\\])*?(?P=quotes)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*\'''', re.DOTALL
)


class Strings:
    """The strings of a text that go over several lines: a lexer that began inside one would take it for code."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._ranges = _opened("\n".join(lines))

    def lead(self, number: int) -> Sequence[str]:
        """The lines before the line `number`, from 1, that belong to the string that it lies in."""
        start = next((opened for opened, closed in self._ranges if opened < number <= closed), number)
        return self._lines[start - 1 : number - 1]


def highlighted(lines: Sequence[str], ranges: Sequence[Sequence[Range]], lead: Sequence[str] = ()) -> list[Markup]:
    """The lines, with the characters of the `ranges` of each marked; `lead` are lines before them that count."""
    coloured = _by_line([visible(line) for line in (*lead, *lines)])
    return [markup(pieces, marked) for pieces, marked in zip(coloured[len(lead) :], ranges)]


def text(code: str) -> Markup:
    """A text of its own, of one line or of many."""
    lines = code.split("\n")
    return Markup("\n").join(highlighted(lines, [()] * len(lines)))


def markup(pieces: Sequence[Piece], ranges: Iterable[Range] = ()) -> Markup:
    """A line, cut where it is too long, with the characters of `ranges` marked."""
    ranges = list(ranges)
    length = sum(len(text) for _, text in pieces)
    start, end = _shown(length, ranges)
    cuts = {edge for one in ranges for edge in one}
    found: list[str] = ["…"] if start else []
    is_marked = False
    for at, kind, text in _cut(pieces, {start, end} | cuts):
        if not start <= at < end:
            continue
        marks = any(first <= at < last for first, last in ranges)
        if marks is not is_marked:
            found.append("<mark>" if marks else "</mark>")
            is_marked = marks
        found.append(f'<span class="{kind}">{escape(text)}</span>' if kind else str(escape(text)))
    found += ["</mark>"] if is_marked else []
    return Markup("".join([*found, "…" if end < length else ""]))


def _shown(length: int, ranges: Sequence[Range]) -> Range:
    """The characters of a line that are shown."""
    if length <= LONGEST:
        return 0, length
    first = min((one for one, _ in ranges), default=0)
    start = min(max(first - LONGEST // 4, 0), length - LONGEST)
    return start, start + LONGEST


def _cut(pieces: Iterable[Piece], edges: Iterable[int]) -> Iterator[tuple[int, str, str]]:
    """The pieces, none of which goes over an edge, each with its first character."""
    at = 0
    for kind, text in pieces:
        inner = sorted({0, len(text), *(edge - at for edge in edges if at < edge < at + len(text))})
        for start, end in pairwise(inner):
            yield at + start, kind, text[start:end]
        at += len(text)


def _by_line(lines: Sequence[str]) -> list[tuple[Piece, ...]]:
    """The pieces of each line. Without a string that goes over several, lines stand for themselves and are kept."""
    text = "\n".join(lines)
    if '"""' in text or "'''" in text:
        return _pieces(text)
    return [_alone(line) for line in lines]


@lru_cache(maxsize=4096)
def _alone(line: str) -> tuple[Piece, ...]:
    return _pieces(line)[0]


def _pieces(text: str) -> list[tuple[Piece, ...]]:
    lines: list[list[Piece]] = [[]]
    for _, token, value in _LEXER.get_tokens_unprocessed(text):
        kind = _class_of(token)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                _append(lines[-1], kind if not part.isspace() else "", part)
    return list(map(tuple, lines))


def _append(line: list[Piece], kind: str, text: str) -> None:
    """Add a piece at the end, or to the last piece if that is of the same class."""
    if line and line[-1][0] == kind:
        line[-1] = (kind, line[-1][1] + text)
    else:
        line.append((kind, text))


@cache
def _class_of(token: _TokenType) -> str:
    return next((name for kind, name in _CLASSES.items() if is_token_subtype(token, kind)), "")


def _opened(text: str) -> list[Range]:
    """The first and the last line of each string that goes over several."""
    found: list[Range] = []
    at, number = 0, 1
    for match in _STRINGS.finditer(text):
        if match["quotes"] is None:
            continue
        number += text.count("\n", at, match.start())
        at = match.start()
        height = text.count("\n", at, match.end())
        if height:
            found.append((number, number + height))
    return found
