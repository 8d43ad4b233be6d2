"""Which of several pieces break what they do together."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


def sift(pieces: Sequence[T], holds: Callable[[Sequence[T]], bool], budget: int) -> tuple[list[T], list[T], list[T]]:
    """The pieces that hold together, those that break them, and those that nothing is known of.

    `holds` tells whether some pieces, in their order, hold together; it is known that all of `pieces` do not and that
    none do. It is asked `budget` times at most; by halves, so that one bad piece among many is found in few.
    """
    return _Sieve(holds, budget, pieces).sifted()


class _Sieve(Generic[T]):
    def __init__(self, holds: Callable[[Sequence[T]], bool], budget: int, pieces: Sequence[T]) -> None:
        self._holds = holds
        self._budget = budget
        self._order = list(pieces)
        self._good: list[T] = []
        self._bad: list[T] = []

    def sifted(self) -> tuple[list[T], list[T], list[T]]:
        self._split(self._order)
        unknown = [piece for piece in self._order if piece not in self._good and piece not in self._bad]
        return self._good, self._bad, unknown

    def _split(self, pieces: Sequence[T]) -> None:
        """Sort `pieces`, of which it is known that they break what is good so far."""
        if len(pieces) == 1:
            self._bad += pieces
            return
        middle = len(pieces) // 2
        for half in (pieces[:middle], pieces[middle:]):
            self._add(half)

    def _add(self, pieces: Sequence[T]) -> None:
        if self._budget == 0:
            return
        self._budget -= 1
        together = self._in_order([*self._good, *pieces])
        if self._holds(together):
            self._good = together
        else:
            self._split(pieces)

    def _in_order(self, pieces: Iterable[T]) -> list[T]:
        chosen = list(pieces)
        return [piece for piece in self._order if piece in chosen]
