"""Texts as lines: how one becomes another, and what a generated text owes to the one it was generated from."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from devfix_codemods.edits.errors import FormattingLost, NotEditable
from devfix_codemods.source import Span

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")

Opcode = tuple[str, int, int, int, int]


def split(text: str) -> list[str]:
    """The physical lines with their ends."""
    return _LINE.findall(text)


def opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[Opcode]:
    """How `old` becomes `new`, as difflib says it; a common head and tail are spared its quadratic search."""
    head = common(old, new)
    tail = min(common(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    yield "equal", 0, head, 0, head
    matcher = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        yield tag, head + start, head + end, head + new_start, head + new_end
    yield "equal", len(old) - tail, len(old), len(new) - tail, len(new)


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines, or characters, both begin with."""
    return next((index for index, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def restored(original: str, generated: str, changed: str) -> str:
    """`changed` with the lines of `original` wherever it still has those of `generated`.

    `generated` is what libcst makes of `original` without any edit. It loses a space before the colon of `except E :`
    and a form feed before code, among others.

    Raises:
        FormattingLost: an edit falls on such a line.
        NotEditable: whole lines are lost.
    """
    if generated == original:
        return changed
    ours, base, theirs = split(original), split(generated), split(changed)
    if len(ours) != len(base):
        raise NotEditable("libcst, which keeps the formatting, loses lines of it")
    result: list[str] = []
    for tag, start, end, new_start, new_end in opcodes(base, theirs):
        if tag == "equal":
            result += ours[start:end]
            continue
        for index in range(start, end):
            if ours[index] != base[index]:
                raise FormattingLost(index + 1)
        result += theirs[new_start:new_end]
    return "".join(result)


def span(text: Sequence[str], start: int, end: int) -> Span:
    """The span of whole lines, counted from 0; the last ends where the text ends if no line follows it."""
    return Span(*_start(text, start), *_start(text, end))


def _start(text: Sequence[str], index: int) -> tuple[int, int]:
    if index < len(text) or not text or text[-1].endswith(("\r", "\n")):
        return (index + 1, 0)
    return (index, len(text[-1]))
