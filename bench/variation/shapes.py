"""Shapes: the ways to write a program that leave its meaning as it is, and draws that cover them evenly."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

_T = TypeVar("_T")

AXES: Mapping[str, Sequence[str]] = {
    "names": ("usual", "letters", "fruits", "numbers"),
    "loop": ("plain", "enumerate", "zip", "progress", "progress-import", "iter-next", "next-iter", "while", "islice"),
    "batch": ("header", "body", "index", "dict", "object"),
    "looks": ("none", "shape", "sum", "length", "branch"),
    "data": ("tensors", "list", "class"),
    "home": ("script", "function", "method", "trainer", "closure", "two-files"),
    "noise": ("none", "train", "zero-grad", "no-grad", "prints", "metrics", "epochs"),
    "guard": ("none", "flag", "available", "ternary"),
    "move": ("cuda", "to-device", "to-self", "to-0", "to-keyword", "to-other", "to-string"),
    "form": ("inline", "named", "comprehension", "helper"),
    "network": ("linear", "sequential", "class", "builder", "choice"),
}
"""The values of each axis."""

ABSENT = "-"
"""The value of an axis that a kind does not have."""

BY_DEVICE = frozenset({"to-device", "to-self", "to-keyword", "to-other"})
"""The spellings of a move that name a declared device."""

_CANDIDATES = 24


@dataclass(frozen=True)
class Shape:
    """A value for each axis. `variant` decides what is too small to be an axis."""

    names: str
    loop: str
    batch: str
    looks: str
    data: str
    home: str
    noise: str
    guard: str
    move: str
    form: str
    network: str
    variant: int = 0

    @property
    def has_device(self) -> bool:
        """Whether the program declares a device."""
        return self.move in BY_DEVICE

    @property
    def is_portable(self) -> bool:
        """Whether the program is meant to run where there is no accelerator."""
        return self.guard != "none"

    @property
    def values(self) -> dict[str, str]:
        """The values by axis."""
        return {axis: getattr(self, axis) for axis in AXES}

    def pick(self, options: Sequence[_T]) -> _T:
        """One of `options`, the same one each time."""
        return options[self.variant % len(options)]

    def why_not(self) -> str | None:
        """Why nobody would write this; None where one would."""
        for reason, holds in (
            ("`self.device` needs a trainer", self.move == "to-self" and self.home != "trainer"),
            ("a device that depends needs to be named", self.guard == "ternary" and not self.has_device),
            ("a move under `if` is a statement", self.guard in {"flag", "available"} and self.form == "inline"),
            ("another's device needs statements", self.move == "to-other" and self.form != "named"),
            ("a TensorDataset yields tuples", self.data == "tensors" and self.batch == "dict"),
        ):
            if holds:
                return reason
        return None


assert tuple(AXES) == tuple(field.name for field in fields(Shape))[:-1]


class Draws:
    """Draws shapes for one kind so that all values of all axes come equally often, as far as they go together."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self._seen: Counter[tuple[str, str]] = Counter()
        self._drawn: set[Shape] = set()

    def draw(self, limits: Mapping[str, Sequence[str]]) -> Shape:
        """A shape whose axes in `limits` have those values only: the one of some with the rarest values."""
        candidates = [self._candidate(limits) for _ in range(_CANDIDATES)]
        best = max(candidates, key=self._rarity)
        self._drawn.add(best)
        self._seen.update(best.values.items())
        return best

    def _candidate(self, limits: Mapping[str, Sequence[str]]) -> Shape:
        while True:
            values = {axis: self._random.choice(limits.get(axis, known)) for axis, known in AXES.items()}
            shape = Shape(**values, variant=self._random.randrange(5040))
            if shape.why_not() is None and shape not in self._drawn:
                return shape

    def _rarity(self, shape: Shape) -> float:
        return sum(1 / (1 + self._seen[value]) ** 2 for value in shape.values.items())
