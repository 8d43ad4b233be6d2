"""Functions and classes that no edit concerns, out of libcst's sight: it takes far longer over them than `ast` does.

A stand-in of as many lines keeps the place of everything else, so that positions stay what they are.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from devfix_codemods.edits.conflicts import place
from devfix_codemods.edits.operations import Edit
from devfix_codemods.source import Source, SourceError

_NAME = b"_devfix_stand_in_"
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BEGINNINGS = (b"@", b"def", b"async", b"class")
_ENCODINGS = frozenset({"utf-8", "utf-8-sig", "ascii", "iso-8859-1", "cp1252"})
"""Those in which a line end is one byte, and that byte nothing else."""

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Masked:
    """`source` has stand-ins for definitions of a file; `hidden` are the stand-ins with what they stand for."""

    source: Source
    hidden: tuple[tuple[bytes, bytes], ...] = ()

    def unmasked(self, data: bytes) -> bytes:
        """`data`, made of `source`, with the definitions back in their places."""
        for stand_in, original in self.hidden:
            data = data.replace(stand_in, original, 1)
        return data


def masked(source: Source, edits: Iterable[Edit]) -> Masked:
    """`source` without the definitions in which none of `edits` happens; as it is where it is not plainly laid out."""
    try:
        tree = source.tree
        if source.encoding not in _ENCODINGS or _NAME in source.data:
            return Masked(source)
    except SourceError:  # for who parses it next to tell
        return Masked(source)
    lines = _LINE.findall(source.data)
    touched = [(at.line, at.end_line) for at in map(place, edits) if at is not None]
    hidden: list[tuple[bytes, bytes]] = []
    for row in _untouched(tree, touched):
        if not _hide(row, lines, hidden):
            for definition in row:
                _hide([definition], lines, hidden)
    return Masked(Source(source.path, b"".join(lines)), tuple(hidden)) if hidden else Masked(source)


def _hide(row: Sequence[_Definition], lines: list[bytes], hidden: list[tuple[bytes, bytes]]) -> bool:
    """Put one stand-in in the place of definitions that follow one another; whether they are plainly laid out."""
    start, end = _first_line(row[0]) - 1, row[-1].end_lineno or row[-1].lineno
    stand_in = _stand_in(row[0], lines[start:end], len(hidden))
    if stand_in is not None:
        hidden.append((b"".join(stand_in), b"".join(lines[start:end])))
        lines[start:end] = stand_in
    return stand_in is not None


def _untouched(tree: ast.Module, touched: Sequence[tuple[int, int]]) -> Iterator[list[_Definition]]:
    """The outermost definitions that share no line with an edit, those that follow one another together."""
    pending: list[ast.AST] = [tree]
    while pending:
        for block in (one for one in vars(pending.pop()).values() if isinstance(one, list)):
            row: list[_Definition] = []
            for one in block:
                if isinstance(one, _Definition) and not _is_touched(one, touched):
                    row.append(one)
                    continue
                if row:
                    yield row
                    row = []
                if isinstance(one, ast.AST) and not isinstance(one, ast.expr):
                    pending.append(one)
            if row:
                yield row


def _is_touched(definition: _Definition, touched: Sequence[tuple[int, int]]) -> bool:
    first, last = _first_line(definition), definition.end_lineno or definition.lineno
    return any(start <= last and first <= end for start, end in touched)


def _first_line(definition: _Definition) -> int:
    return min([definition.lineno, *(one.lineno for one in definition.decorator_list)])


def _stand_in(definition: _Definition, lines: Sequence[bytes], number: int) -> list[bytes] | None:
    """A class of as many lines, its block as deep as that of the first definition in them; None where that is laid out
    in an odd way."""
    outer, inner = _indent(lines[0]), _block_indent(definition, lines)
    if not lines[0].startswith(_BEGINNINGS, len(outer)) or not inner.startswith(outer) or inner == outer:
        return None
    first, second, *rest = map(_line_end, lines)
    head = outer + b"class " + _NAME + b"%d:" % number + first
    if not rest:
        return [head, inner + b'""""""' + second]
    return [head, inner + b'"""' + second, *rest[:-1], b'"""' + rest[-1]]


def _block_indent(definition: _Definition, lines: Sequence[bytes]) -> bytes:
    """How far the block of `definition` is indented; nothing where it does not begin a line."""
    first = definition.body[0]
    decorated = isinstance(first, _Definition) and first.decorator_list
    row = _first_line(first) if isinstance(first, _Definition) else first.lineno
    line = lines[row - _first_line(definition)]
    indent = _indent(line)
    return indent if decorated or len(indent) == first.col_offset else b""


def _indent(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip(b" \t"))]


def _line_end(line: bytes) -> bytes:
    return line[len(line.rstrip(b"\r\n")) :]
