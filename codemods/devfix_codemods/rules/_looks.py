"""Closer looks at the bytes of a file, for rules whose byte triggers stand in every second file.

Each may say yes in vain. None may say no where its rule is likely to find something: what the words below leave out is
a model that is built inside a function and only called there, outside of training, evaluation and `no_grad`. Looks that
several rules take keep the answer for the last file.
"""

import re
from functools import lru_cache

from devfix_codemods.flow.tables import MAKERS

_MOVE = re.compile(rb"\.(?:to|cuda|cpu)\(")
_STATEMENT = re.compile(rb"(?:^|[;:])[ \t]*[A-Za-z_\x80-\xff][\w.\x80-\xff]*(?:\[[^\]\n]*\])*$")
_MAKERS = b"|".join(name.encode() for name in sorted(MAKERS))
_MAKES = re.compile(rb"\.(?:" + _MAKERS + rb")\(")
_MAKES_BY_NAME = re.compile(rb"\b(?:" + _MAKERS + rb")\(")
_BEFORE = 120
"""How far before a move its receiver is looked for."""


@lru_cache(maxsize=1)
def makes_tensors(data: bytes) -> bool:
    """Something is called like a factory of torch, or a distribution may be sampled."""
    if _MAKES.search(data) or (b"distributions" in data and b"sample(" in data):
        return True
    return b"from torch" in data and _MAKES_BY_NAME.search(data) is not None


def discards_move(data: bytes) -> bool:
    """Some move may begin its line."""
    return any(_STATEMENT.search(before) for before in _before_moves(data))


def _before_moves(data: bytes) -> list[bytes]:
    """For each move, the part of its line that stands before it."""
    found: list[bytes] = []
    for move in _MOVE.finditer(data):
        start = max(data.rfind(b"\n", 0, move.start()) + 1, move.start() - _BEFORE)
        found.append(data[start : move.start()])
    return found
