"""Conditions that ask for a device, by what is said in them: `use_cuda`, `args.gpu >= 0`, `x.is_cuda`."""

import ast
import re
from collections.abc import Hashable, Mapping, Set

from devfix_codemods.ir import Function, Guard, Node
from devfix_codemods.ir.nodes import Literal

_PLACES = re.compile(r"(?i)cuda|gpu|cpu|device")
_RUNNING = re.compile(r"(?i)(skip|requires?|only|needs?)\w*\b.*(cuda|gpu)|(skip|requires?|only|needs?)_?\w*(cuda|gpu)")
_NUMBERED = frozenset({"param", "node"})
"""Keys of values that are known by their number alone."""


def asks_for_place(function: Function, guard: Guard) -> bool:
    """Whether a condition in a function asks for a device."""
    called = _names(function) if guard else {}
    return any(_speaks(atom, called) for atom, _ in guard)


def is_of_accelerator(made: Node, beside: Node, host_only: Set[Literal]) -> bool:
    """Whether a value is made only where there is an accelerator, `if torch.cuda.is_available(): …`, and what stands
    `beside` it is made elsewhere as well: the first says nothing of the other then."""
    if made.function is beside.function:
        more = made.guard - beside.guard
    else:
        more = made.guard
        if needs_accelerator(made.function) and not needs_accelerator(beside.function):
            return True
    denied = any((atom, not holds) in host_only for atom, holds in more)
    return denied or asks_for_place(made.function, more)


def needs_accelerator(function: Function) -> bool:
    """Whether a function runs with an accelerator alone: `@pytest.mark.skipif(not torch.cuda.is_available())`."""
    around: Function | None = function
    while around is not None:
        decorators = getattr(around.syntax, "decorator_list", ())
        if any(_RUNNING.search(ast.unparse(one)) for one in decorators):
            return True
        around = around.parent
    return False


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
