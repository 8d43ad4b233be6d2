"""Findings of two readings of a file, or of two days, told to be the same: by what they say and where they stand.

Line numbers have no part in it, so that edits elsewhere do not matter.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sign:
    """What a finding is known by: its file, rule and message, the text that it is about, and the lines around that."""

    path: str
    code: str
    message: str
    text: str
    around: tuple[str, str]

    @property
    def without_surroundings(self) -> tuple[str, ...]:
        return self.path, self.code, self.message, self.text


def paired(old: Sequence[Sign], new: Sequence[Sign]) -> dict[int, int]:
    """Which of `old` is which of `new`, by their indices.

    Alike ones are paired in their order, and only where there are as many of them as before: none is guessed.
    """
    found: dict[int, int] = {}
    keys: tuple[Callable[[Sign], Hashable], ...] = (lambda sign: sign, lambda sign: sign.without_surroundings)
    for key in keys:
        taken = set(found.values())
        before = _grouped(((index, sign) for index, sign in enumerate(old) if index not in found), key)
        after = _grouped(((index, sign) for index, sign in enumerate(new) if index not in taken), key)
        for known, members in before.items():
            others = after.get(known, [])
            if len(others) == len(members):
                found.update(zip(members, others, strict=True))
    return found


def _grouped(signs: Iterable[tuple[int, Sign]], key: Callable[[Sign], Hashable]) -> dict[Hashable, list[int]]:
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for index, sign in signs:
        groups[key(sign)].append(index)
    return groups
