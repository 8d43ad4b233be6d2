"""Unified diffs that `git apply` and `patch` take: bytes in, bytes out, line ends and encodings as they are."""

import difflib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TextIO

from devfix_codemods.notebooks.notebook import changed_cells, is_notebook

from devfix.reporting.terminal import Line, Printer, visible, wants_colour, write_bytes

_NO_NEWLINE = b"\\ No newline at end of file\n"
_ESCAPES = {ord("\a"): b"\\a", ord("\b"): b"\\b", ord("\t"): b"\\t", ord("\n"): b"\\n", ord("\v"): b"\\v"}
_ESCAPES |= {ord("\f"): b"\\f", ord("\r"): b"\\r", ord('"'): b'\\"', ord("\\"): b"\\\\"}


def patch(name: str, before: bytes, after: bytes) -> bytes:
    """The diff of a file, or for a notebook of each changed cell: `a/train.ipynb:cell 3`. `name` may be absolute."""
    name = name.lstrip(os.sep)
    if not is_notebook(name):
        return unified(os.fsencode(name), before, after)
    cells = changed_cells(name, before, after)
    return b"".join(unified(os.fsencode(f"{name}:cell {cell}"), *texts) for cell, *texts in cells)


def show(shown: bytes, stream: TextIO | None = None) -> None:
    """Print a diff: in colours where they are wanted, else its bytes as they are. Without `stream`, standard output."""
    stream = stream or sys.stdout
    if wants_colour(stream):
        Printer(stream).lines(coloured(shown))
    else:
        write_bytes(shown, stream)


def unified(name: bytes, before: bytes, after: bytes) -> bytes:
    """The diff of one file, empty where nothing changed. `name` is relative to where the patch will be applied."""
    header = (_header(b"a/" + name), _header(b"b/" + name))
    lines = difflib.diff_bytes(difflib.unified_diff, _lines(before), _lines(after), *header, lineterm=b"\n")
    return b"".join(_ended(lines))


def _lines(data: bytes) -> list[bytes]:
    """Lines as git counts them: only a line feed ends one."""
    *whole, rest = data.split(b"\n")
    lines = [line + b"\n" for line in whole]
    return [*lines, rest] if rest else lines


def _ended(lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield line if line.endswith(b"\n") else line + b"\n" + _NO_NEWLINE


def _header(name: bytes) -> bytes:
    """The name as git writes it: quoted where it has odd characters, and ended by a tab where it has blanks."""
    if any(byte < 32 or byte == 127 or byte in b'"\\' for byte in name):
        return b'"' + b"".join(_escaped(byte) for byte in name) + b'"'
    return name + b"\t" if b" " in name else name


def _escaped(byte: int) -> bytes:
    if byte in _ESCAPES:
        return _ESCAPES[byte]
    return b"\\%03o" % byte if byte < 32 or byte == 127 else bytes([byte])


def coloured(shown: bytes) -> list[Line]:
    """The diff for a terminal. Only line feeds end lines: what follows another separator has no sign of its own."""
    lines = (line.decode("utf-8", "replace").rstrip("\r\n") for line in _lines(shown))
    return [[(visible(line), _style(line))] for line in lines]


def _style(line: str) -> str:
    if line.startswith(("--- ", "+++ ")):
        return "message"
    return {"+": "added", "-": "removed", "@": "hunk"}.get(line[:1], "")
