"""Texts as lines: how one becomes another, and what a generated text owes to the one it was generated from."""

import re
from collections import Counter
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
    """How `old` becomes `new`, as difflib says it.

    Its search is quadratic in lines that are alike, as blank ones are: a common head and tail are spared it, and it is
    made between the lines that stand once in both.
    """
    head = common(old, new)
    tail = min(common(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    at, new_at = 0, 0
    for tag, start, end, new_start, new_end in _changes(old[head : len(old) - tail], new[head : len(new) - tail]):
        yield "equal", at, head + start, new_at, head + new_start
        at, new_at = head + end, head + new_end
        yield tag, head + start, at, head + new_start, new_at
    yield "equal", at, len(old), new_at, len(new)


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[Opcode]:
    """The opcodes of all that is not equal."""
    at, new_at = 0, 0
    for place, new_place in [*_fixed(old, new), (len(old), len(new))]:
        gap, new_gap = old[at:place], new[new_at:new_place]
        codes = SequenceMatcher(None, gap, new_gap, autojunk=False).get_opcodes() if gap != new_gap else ()
        for tag, start, end, new_start, new_end in codes:
            if tag != "equal":
                yield tag, at + start, at + end, new_at + new_start, new_at + new_end
        at, new_at = place + 1, new_place + 1


def _fixed(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the lines stand that are once in both, in the same order."""
    once = _once(old) & _once(new)
    places = [index for index, line in enumerate(old) if line in once]
    new_places = [index for index, line in enumerate(new) if line in once]
    matcher = SequenceMatcher(None, [old[one] for one in places], [new[one] for one in new_places], autojunk=False)
    for start, new_start, size in matcher.get_matching_blocks():
        yield from zip(places[start : start + size], new_places[new_start : new_start + size])


def _once(lines: Sequence[str]) -> set[str]:
    return {line for line, times in Counter(lines).items() if times == 1}


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
