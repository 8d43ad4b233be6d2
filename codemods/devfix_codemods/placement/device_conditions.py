"""Conditions that ask for a device, by what is said in them: `use_cuda`, `args.gpu >= 0`, `x.is_cuda`."""

import ast
import re
from collections.abc import Hashable, Mapping, Set

from devfix_codemods.ir import Function, Guard, Node
from devfix_codemods.ir.nodes import Literal

_PLACES = re.compile(r"(?i)cuda|gpu|cpu|device")
_ACCELERATOR = r"(cuda|gpu|accelerator)"
_SPEAKS = re.compile(f"(?i){_ACCELERATOR}")
_NEEDING = re.compile(
    rf"(?i)(requires?|needs?|only|unless|without|_no|ifno)_?(torch_?)?(multi_?)?{_ACCELERATOR}|{_ACCELERATOR}_?(only|required)"
)
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
    """Whether a function, or its class, runs with an accelerator alone: `@skipUnless(torch.cuda.is_available())`,
    `@pytest.mark.skipif(not torch.cuda.is_available())`, `@requires_cuda`."""
    around: Function | None = function
    while around is not None:
        own = getattr(around.syntax, "decorator_list", ())
        of_class = around.owner.syntax.decorator_list if around.owner is not None else ()
        if any(map(_needs, (*own, *of_class))):
            return True
        around = around.parent
    return False


def _needs(decorator: ast.expr) -> bool:
    """Whether what carries a decorator runs with an accelerator alone."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = ast.unparse(called).rpartition(".")[2]
    sort = name.lower()
    if sort not in {"skipif", "skipunless"} or not isinstance(decorator, ast.Call):
        return _NEEDING.search(name) is not None
    told = [*decorator.args[:1], *(one.value for one in decorator.keywords if one.arg == "condition")]
    return any(
        _denies(one) if sort == "skipif" else _SPEAKS.search(ast.unparse(one)) and not _denies(one) for one in told
    )


def _denies(test: ast.expr) -> bool:
    """Whether a condition holds where there is no accelerator: `not torch.cuda.is_available()`, `gpus() < 2`."""
    match test:
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_denies, values))
        case ast.UnaryOp(op=ast.Not()) | ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Eq()]):
            return _SPEAKS.search(ast.unparse(test)) is not None
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
