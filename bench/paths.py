"""The lines between where a value is made and where it meets others: an edit on any of them may undo a deletion.

A right repair need not stand where the authors had theirs: `loader -> batch -> x -> model(x)` can be moved at each
arrow. The path of a value are the statements of its function that store or read it; then of what it is taken from
(`x = batch["x"]`, `for x, y in loader`) and of what is taken from it in turn (`a, b = x`, `z = x.view(3)`). The path of
`self.x` are the statements of its class, that of a global those of the file.
"""

import ast
from collections.abc import Iterable, Iterator

from scopes import Scopes, dotted

_MOST_NAMES = 12
_SAME = frozenset(
    """
    clone contiguous detach double expand flatten float half int items long permute repeat requires_grad_ reshape
    squeeze t transpose type unsqueeze values view
    """.split()  # noqa: SIM905
)
"""Methods of a tensor or a mapping whose result is the same value, for who looks for its place."""

_THROUGH = frozenset({"Variable", "enumerate", "iter", "list", "next", "tqdm", "zip"})


def path_of(scopes: Scopes, call: ast.Call, value: ast.expr) -> tuple[int, ...]:
    """The lines, from 1, on which a value, or what the call that is made of it is assigned to, is stored or read."""
    return lines_of(scopes, call, [*_names(value), *_targets(scopes, call)])


def lines_of(scopes: Scopes, node: ast.expr, names: Iterable[str]) -> tuple[int, ...]:
    """The path of some names, as they are known where `node` stands."""
    seen: set[str] = set()
    waiting = [*names]
    lines: set[int] = set(_header(scopes.statement(node)))
    while waiting and len(seen) < _MOST_NAMES:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for one in scopes.mentions(node, name):
            lines.update(_header(scopes.statement(one)))
            waiting += _related(scopes, one)
    return tuple(sorted(lines))


def _names(node: ast.expr) -> Iterator[str]:
    """The name in whose place an expression stands: `x`, `x[0]`, `x.float()` and `Variable(x)` are all about `x`."""
    match node:
        case ast.Name() | ast.Attribute() if name := dotted(node):
            yield from [name] if name != "self" else []
        case ast.Subscript(value=value) | ast.Starred(value=value) | ast.Attribute(value=value):
            yield from _names(value)
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _SAME:
            yield from _names(value)
        case ast.Call(func=ast.Name(id=name), args=args) if name in _THROUGH:
            for one in args:
                yield from _names(one)


def _targets(scopes: Scopes, node: ast.expr) -> Iterator[str]:
    """What an expression, or what is made of it by methods alone, is assigned to."""
    above = scopes.parent(node)
    while isinstance(above, ast.Attribute) or (isinstance(above, ast.Call) and above.func is node):
        node, above = above, scopes.parent(above)
    if isinstance(above, ast.Assign | ast.AnnAssign):
        yield from _stored(above.targets if isinstance(above, ast.Assign) else [above.target])


def _related(scopes: Scopes, mention: ast.expr) -> Iterator[str]:
    """The names of which a statement makes this one, or the other way."""
    statement = scopes.statement(mention)
    match statement:
        case ast.Assign(targets=targets, value=value):
            sides = (targets, value)
        case ast.For(target=target, iter=value):
            sides = ([target], value)
        case _:
            return
    taken, given = {*_names(sides[1])}, {*_stored(sides[0])}
    name = dotted(mention)
    if name in given:
        yield from taken
    elif name in taken:
        yield from given


def _stored(targets: Iterable[ast.expr]) -> Iterator[str]:
    for one in targets:
        if isinstance(one, ast.Tuple | ast.List):
            yield from _stored(one.elts)
        elif name := dotted(one):
            yield name


def _header(statement: ast.stmt) -> range:
    """The lines of a statement, or of what stands above its body; and the one after which a line is put before it."""
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
    return range(max(statement.lineno - 1, 1), max(last, statement.lineno) + 1)
