"""The JSON strings of a cell's source, written anew: what did not change keeps its escapes and its layout."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from devfix_codemods.edits import lines
from devfix_codemods.notebooks.cells import Cell

_PIECE = re.compile(r"\\u[dD][89aAbB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\.|[^\\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Letter:
    """A character as the file writes it. `gap` is what stands before the string that it begins, None inside one."""

    text: str
    written: str
    gap: str | None = None
    old: bool = True


def source_of(document: str, cell: Cell, text: str) -> str:
    """The JSON value that says `text`, in the style of `cell`, whose own source says something else."""
    old = list(_letters(document, cell))
    plain = not document.isascii()
    new = list(_changed(old, text, plain))
    if not cell.listed:
        return '"' + "".join(letter.written for letter in new) + '"'
    opening, closing = _edges(document, cell)
    default = _usual_gap(document, cell, opening)
    parts: list[str] = []
    previous: _Letter | None = None
    for letter in new:
        if previous is None:
            parts.append(f'{opening}"')
        elif _begins(previous, letter):
            parts.append(f'"{letter.gap or default}"')
        parts.append(letter.written)
        previous = letter
    return "".join([*parts, '"', closing]) if parts else "[]"


def _begins(previous: _Letter, letter: _Letter) -> bool:
    """Whether a new string begins: where one did, unless something new stands before it on its line, and at each line
    that is new or follows one that is."""
    if letter.old and letter.gap is not None and previous.old:
        return True
    return previous.text == "\n" and not (letter.old and previous.old)


def _letters(document: str, cell: Cell) -> Iterator[_Letter]:
    end = None
    for literal in cell.literals:
        gap = "" if end is None else document[end : literal.start]
        for number, written in enumerate(_PIECE.findall(document[literal.start + 1 : literal.end - 1])):
            yield _Letter(json.loads(f'"{written}"', strict=False), written, gap if not number else None)
        end = literal.end


def _changed(old: Sequence[_Letter], text: str, plain: bool) -> Iterator[_Letter]:
    """The letters of `text`: those of `old` where its lines, or their ends, are the same."""
    before, after = lines.split("".join(letter.text for letter in old)), lines.split(text)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    for tag, start, end, new_start, new_end in lines.opcodes(before, after):
        kept = old[starts[start] : starts[end]]
        yield from kept if tag == "equal" else _replaced(kept, "".join(after[new_start:new_end]), plain)


def _replaced(old: Sequence[_Letter], text: str, plain: bool) -> Iterator[_Letter]:
    known = "".join(letter.text for letter in old)
    head = lines.common(known, text)
    tail = lines.common(known[head:][::-1], text[head:][::-1])
    yield from old[:head]
    yield from (_Letter(one, _written(one, plain), old=False) for one in text[head : len(text) - tail])
    yield from old[len(old) - tail :]


def _written(letter: str, plain: bool) -> str:
    return json.dumps(letter, ensure_ascii=not plain)[1:-1]


def _edges(document: str, cell: Cell) -> tuple[str, str]:
    """The brackets with the white space inside them."""
    if not cell.literals:
        return "[", "]"
    return document[cell.start : cell.literals[0].start], document[cell.literals[-1].end : cell.end]


def _usual_gap(document: str, cell: Cell, opening: str) -> str:
    if len(cell.literals) > 1:
        return document[cell.literals[0].end : cell.literals[1].start]
    return "," + (opening.removeprefix("[") or " ")
