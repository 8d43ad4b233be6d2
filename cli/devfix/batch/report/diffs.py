"""A unified diff as git writes it, back as lines beside each other."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from devfix.reporting import sidebyside
from devfix.reporting.sidebyside import Row, Side

LONGEST = 400
"""Of a longer line, this many characters are shown."""

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


@dataclass(frozen=True)
class FileDiff:
    """The changes of the file at `path`, hunk by hunk; none where all are left out."""

    path: str
    hunks: tuple[sidebyside.Hunk, ...]


@dataclass(frozen=True)
class _Hunk:
    """The lines of a hunk with their signs, and the number of its first line before and after."""

    path: str
    before: int
    after: int
    lines: Sequence[bytes]


def files_in(diff: bytes, most: int) -> tuple[list[FileDiff], int]:
    """The files of the diff, and how many lines are left out so that at most `most` are shown.

    A hunk that does not fit is left out whole; smaller ones behind it may still fit. What is no diff is passed over.
    """
    found: list[FileDiff] = []
    left_out = 0
    for path, hunks in groupby(_hunks(diff.split(b"\n")), key=lambda hunk: hunk.path):
        shown = []
        for hunk in hunks:
            if len(hunk.lines) > most:
                left_out += len(hunk.lines)
            else:
                most -= len(hunk.lines)
                shown.append(tuple(_rows(hunk)))
        found.append(FileDiff(path, tuple(shown)))
    return found, left_out


def _hunks(lines: Sequence[bytes]) -> Iterator[_Hunk]:
    path = ""
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith(b"+++ "):
            path = _path(line[4:])
        elif (head := _HUNK.match(line)) is not None:
            end = _end(lines, at, int(head[2] or 1), int(head[4] or 1))
            yield _Hunk(path, int(head[1]), int(head[3]), lines[at:end])
            at = end


def _end(lines: Sequence[bytes], at: int, before: int, after: int) -> int:
    """Where the hunk that begins at a line ends: it has so many lines before and after."""
    while at < len(lines) and (before > 0 or after > 0 or lines[at].startswith(b"\\")):
        sign = lines[at][:1]
        if sign not in (b" ", b"-", b"+", b"\\"):
            break
        before -= sign in (b" ", b"-")
        after -= sign in (b" ", b"+")
        at += 1
    return at


def _rows(hunk: _Hunk) -> Iterator[Row]:
    before, after = hunk.before, hunk.after
    lines = [(line[:1], _text(line[1:])) for line in hunk.lines if not line.startswith(b"\\")]
    for is_change, group in groupby(lines, key=lambda line: line[0] != b" "):
        block = list(group)
        if is_change:
            gone, come = ([text for sign, text in block if sign == which] for which in (b"-", b"+"))
            yield from sidebyside.changed(gone, come, before, after)
            before, after = before + len(gone), after + len(come)
        else:
            for at, (_, text) in enumerate(block):
                yield Row(Side(before + at, text), Side(after + at, text), is_change=False)
            before, after = before + len(block), after + len(block)


def _text(line: bytes) -> str:
    text = line[: 4 * LONGEST].removesuffix(b"\r").decode("utf-8", "replace")
    return text if len(text) <= LONGEST and len(line) <= 4 * LONGEST else f"{text[:LONGEST]}…"


def _path(name: bytes) -> str:
    """A name as git writes it, without `b/`; what is no UTF-8 in it as escapes."""
    name = name.split(b"\t")[0].removesuffix(b"\r")
    if name.startswith(b'"'):
        name = _ESCAPE.sub(_unescaped, name[1:-1])
    return name.removeprefix(b"b/").decode("utf-8", "backslashreplace")


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _LETTERS.get(code, code)
