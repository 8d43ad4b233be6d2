"""Two versions of a text in two columns: what a review, a terminal and a page show beside each other."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

CONTEXT = 3
"""Unchanged lines around a change, as in a unified diff."""

Range = tuple[int, int]
"""First character and the one after the last, of a line."""

Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]

_WORD = re.compile(r"\w+|\s+|.")
_ALIKE = 0.5
"""Lines less alike than this were replaced, not edited: marking what they share would only confuse."""


@dataclass(frozen=True, slots=True)
class Side:
    """A line on one side: its number from 1, its text, and the characters in it that the other side lacks."""

    number: int
    text: str
    changed: tuple[Range, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """Two lines beside each other; None where a side has none. `is_change` tells a change from its context."""

    before: Side | None
    after: Side | None
    is_change: bool = True


Hunk = tuple[Row, ...]


def hunks(before: Sequence[str], after: Sequence[str], context: int = CONTEXT) -> list[Hunk]:
    """The changes between two texts, given as lines without their ends, each with its context."""
    groups = _Matcher(before, after).get_grouped_opcodes(context)
    return [tuple(row for code in group for row in _rows(before, after, *code)) for group in groups]


def changed(gone: Sequence[str], come: Sequence[str], before: int, after: int) -> Iterator[Row]:
    """Lines that go, and beside them those that take their place; `before` and `after` number the first of each."""
    both = min(len(gone), len(come))
    for number, (left, right) in enumerate(zip(gone, come)):
        old, new = _marks(left, right)
        yield Row(Side(before + number, left, old), Side(after + number, right, new))
    for number in range(both, len(gone)):
        yield Row(Side(before + number, gone[number]), None)
    for number in range(both, len(come)):
        yield Row(None, Side(after + number, come[number]))


class _Matcher(difflib.SequenceMatcher[str]):
    """Compares only what lies between the lines or words that both begin and end with: those are most of them."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        first = _alike(before, after)
        last = _alike(before[first:][::-1], after[first:][::-1])
        self._first, self._ends = first, (len(before) - last, len(before), len(after) - last, len(after))
        super().__init__(None, before[first : len(before) - last], after[first : len(after) - last], autojunk=False)

    def get_opcodes(self) -> list[Opcode]:
        """The opcodes of the whole texts."""
        first, between = self._first, super().get_opcodes()
        moved = [
            (tag, old + first, old_end + first, new + first, new_end + first)
            for tag, old, old_end, new, new_end in between
        ]
        return [
            code
            for code in [("equal", 0, first, 0, first), *moved, ("equal", *self._ends)]
            if code[2] > code[1] or code[4] > code[3]
        ]


def _alike(before: Sequence[str], after: Sequence[str]) -> int:
    """How many lines both begin with."""
    pairs = zip(before, after)
    return next((number for number, (old, new) in enumerate(pairs) if old != new), min(len(before), len(after)))


def _rows(
    before: Sequence[str], after: Sequence[str], tag: str, old: int, old_end: int, new: int, new_end: int
) -> Iterator[Row]:
    if tag == "equal":
        for number in range(old_end - old):
            old_side = Side(old + number + 1, before[old + number])
            yield Row(old_side, Side(new + number + 1, after[new + number]), is_change=False)
        return
    yield from changed(before[old:old_end], after[new:new_end], old + 1, new + 1)


def _marks(before: str, after: str) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """What is not the same in two lines, word by word."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    codes = _Matcher(old, new).get_opcodes()
    same = sum(end - start for tag, start, end, _, _ in codes if tag == "equal")
    if 2 * same < _ALIKE * (len(old) + len(new)):
        return (), ()
    changes = [code for code in codes if code[0] != "equal"]
    return (
        tuple(_range(old, start, end) for _, start, end, _, _ in changes if start < end),
        tuple(_range(new, start, end) for _, _, _, start, end in changes if start < end),
    )


def _range(words: Sequence[str], start: int, end: int) -> Range:
    first = sum(map(len, words[:start]))
    return first, first + sum(map(len, words[start:end]))
