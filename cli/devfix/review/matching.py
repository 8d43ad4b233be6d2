"""Which findings of two analyses of a file are the same: those with one message and one text, between the same lines.

Line numbers have no part in it, so that edits elsewhere do not matter.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a finding is known by: its file, rule and message, the text that it is about, and the lines around that."""

    path: str
    code: str
    message: str
    text: str
    around: tuple[str, str]

    @property
    def without_surroundings(self) -> tuple[str, ...]:
        return self.path, self.code, self.message, self.text


def paired(old: Sequence[Fingerprint], new: Sequence[Fingerprint]) -> dict[int, int]:
    """The index in `new` of each of `old` that is still there. Surroundings may differ where all else is the same.

    Findings with one fingerprint are paired in their order. If their number has changed, none is: it would be a guess.
    """
    found: dict[int, int] = {}
    keys: tuple[Callable[[Fingerprint], Hashable], ...] = (lambda one: one, lambda one: one.without_surroundings)
    for key in keys:
        taken = set(found.values())
        before = _grouped(((index, one) for index, one in enumerate(old) if index not in found), key)
        after = _grouped(((index, one) for index, one in enumerate(new) if index not in taken), key)
        for known, members in before.items():
            others = after.get(known, [])
            if len(others) == len(members):
                found.update(zip(members, others, strict=True))
    return found


def _grouped(
    numbered: Iterable[tuple[int, Fingerprint]], key: Callable[[Fingerprint], Hashable]
) -> dict[Hashable, list[int]]:
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for index, one in numbered:
        groups[key(one)].append(index)
    return groups
