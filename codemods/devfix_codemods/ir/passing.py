"""Calls that give the elements of what they get, one by one or all of them."""

import ast

from devfix_codemods.ir.keys import name
from devfix_codemods.ir.nodes import Node, Op

PASSING = frozenset({"builtins.iter", "builtins.list", "builtins.tuple", "builtins.reversed", "builtins.sorted"})
PASSING |= {"itertools.islice", "itertools.cycle", "builtins.next"}
_ITERATORS = frozenset({"builtins.iter", "builtins.enumerate", "builtins.zip", "itertools.zip_longest"})
_PROGRESS_BARS = frozenset(
    {"tqdm", "trange", "tqdm_notebook", "stqdm", "track", "alive_it", "progressbar", "progress_bar"}
)
"""Of tqdm, stqdm, rich, alive-progress, progressbar2, click and fastprogress, wherever they are imported from."""


def is_next_of_iterator(callee: Node) -> bool:
    """`rows.next` of `rows = iter(loader)`."""
    made = callee.args[0] if callee.op is Op.ATTR and callee.extra == "next" else None
    return made is not None and made.op is Op.CALL and made.args[0].extra == "builtins.iter"


def is_next_of_loop(args: list[Node]) -> bool:
    """`next(iter(loader))`, `next(enumerate(loader))`: what a loop over the same would give."""
    match args:
        case [Node(op=Op.REF, extra="builtins.next"), Node(op=Op.CALL) as iterator]:
            return name(iterator.args[0]) in _ITERATORS
    return False


def bound_to(statement: ast.stmt | None, call: ast.Call) -> ast.expr | None:
    """What a statement binds to what a call gives, where that is all it does."""
    match statement:
        case ast.Assign(targets=[target], value=value) if value is call:
            return target
    return None


def completed(callee: Node, args: list[Node], words: list[str | None]) -> tuple[list[Node], list[str | None]]:
    """What is called, with what, where a call completes one that was begun: `partial(f, 1)(2)` is `f(1, 2)`."""
    given = list(zip(args, words))
    while callee.op is Op.CALL and name(callee.args[0]) == "functools.partial" and callee.extras[:1] == (None,):
        known = {word for _, word in given} - _STARS
        begun = [(one, word) for one, word in zip(callee.args[2:], callee.extras[1:]) if word not in known]
        given = sorted(begun + given, key=lambda one: one[1] not in _POSITIONAL)
        callee = callee.args[1]
    return [callee, *(one for one, _ in given)], [word for _, word in given]


def written(call: Node) -> list[ast.expr] | None:
    """The arguments of a call as it spells them; None where other places spell some, as those of `partial`."""
    syntax = call.syntax
    found = [*syntax.args, *(one.value for one in syntax.keywords)] if isinstance(syntax, ast.Call) else None
    return found if found is not None and len(found) == len(call.args) - 1 else None


_POSITIONAL = frozenset({None, "*"})
_STARS = frozenset({None, "*", "**"})


def gives_elements(value: Node) -> bool:
    """Whether a value gives the elements of the first thing that a call gets, which makes it of that."""
    return value.op is Op.CALL and len(value.args) > 1 and name(value.args[0]) in PASSING


def shows_progress(value: Node) -> bool:
    """Whether a value is a progress bar of a library, which gives the elements of what it is made with."""
    callee = value.args[0] if value.op is Op.CALL else None
    return callee is not None and callee.op is Op.REF and str(callee.extra).rpartition(".")[2] in _PROGRESS_BARS
