"""Conditions that ask for a device, by what is said in them: `use_cuda`, `args.gpu >= 0`, `x.is_cuda`."""

import re
from collections.abc import Hashable, Mapping

from devfix_codemods.ir import Function, Guard

_PLACES = re.compile(r"(?i)cuda|gpu|cpu|device")
_NUMBERED = frozenset({"param", "node"})
"""Keys of values that are known by their number alone."""


def asks_for_place(function: Function, guard: Guard) -> bool:
    """Whether a condition in a function asks for a device."""
    called = _names(function) if guard else {}
    return any(_speaks(atom, called) for atom, _ in guard)


def _names(function: Function) -> dict[int, str]:
    """What the values are called that have a name in a function, or around it, by their numbers."""
    found: dict[int, str] = {}
    around: Function | None = function
    while around is not None:
        for name, node in (*around.finals.items(), *around.parameters.items()):
            if isinstance(name, str):
                found.setdefault(node.index, name)
        around = around.parent
    return found


def _speaks(part: Hashable, called: Mapping[int, str]) -> bool:
    if isinstance(part, str):
        return _PLACES.search(part) is not None
    if not isinstance(part, tuple | frozenset):
        return False
    if isinstance(part, tuple) and len(part) == 2 and part[0] in _NUMBERED and isinstance(part[1], int):
        return _PLACES.search(called.get(part[1], "")) is not None
    return any(_speaks(one, called) for one in part)
