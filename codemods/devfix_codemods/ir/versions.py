"""Which state an object is in: a test that is repeated asks the same only where nothing has changed in between."""

import ast
from collections.abc import Hashable, Iterator

from devfix_codemods.ir.keys import key
from devfix_codemods.ir.nodes import Class, Function, Node, Op, walk

FILLING = frozenset({"append", "extend", "add", "insert", "appendleft", "update", "setdefault", "put"})
"""Methods that put what they get into a container."""
CHANGING = FILLING | {"extendleft", "pop", "popleft", "popitem", "remove", "discard", "clear"}
"""Methods after which a container holds something else."""

State = tuple[int, ...]
"""The versions of all that a test reads and that has changed before; empty where nothing has."""


class Versions:
    """The last change of each object, of what it holds and of what its attributes are, on the way to here."""

    def __init__(self) -> None:
        self._last: dict[Hashable, int] = {}
        self._in_branches: set[Hashable] = set()
        self._count = 0

    def change(self, *changed: Hashable) -> None:
        for one in changed:
            self._count += 1
            self._last[one] = self._count

    def holds_other(self, node: Node) -> None:
        """What an object holds is another thing now."""
        self.change(_contents(node))

    def called(self, base: Node, method: str, function: Function) -> None:
        """`seen.add(name)`, and `self.set_up()` of a class whose method sets attributes."""
        if method in CHANGING:
            self.holds_other(base)
        elif base is function.self_node and function.owner is not None:
            for name, rebinds in set(_of_method(function.owner, method)):
                known = ("attr", key(base), name)
                self.change(_binding(known) if rebinds else ("contents", known))

    def enter(self) -> tuple[dict[Hashable, int], set[Hashable]]:
        """A branch begins: what `leave` goes back to."""
        before = dict(self._last), self._in_branches
        self._in_branches = set()
        return before

    def leave(self, before: tuple[dict[Hashable, int], set[Hashable]], *, goes_on: bool) -> None:
        """A branch ends: others of the same choice see nothing of it; what comes after them all does."""
        known, pending = before
        changed = {one for one, last in self._last.items() if known.get(one) != last} | self._in_branches
        self._last, self._in_branches = known, pending | changed if goes_on else pending

    def join(self) -> None:
        """What comes after branches sees the changes of them all."""
        self.change(*self._in_branches)
        self._in_branches = set()

    def read_by(self, *values: Node) -> State:
        """The state of all that a test of some values reads."""
        if not self._last:
            return ()
        return tuple(sorted({self._last[one] for value in values for one in _read(value, True) if one in self._last}))


def _contents(node: Node) -> Hashable:
    return ("contents", key(node))


def _binding(attribute: Hashable) -> Hashable:
    return ("binding", attribute)


def _read(node: Node, holds: bool) -> Iterator[Hashable]:
    """What the value of a node depends on; with `holds`, also on what it holds: as its truth and its length do."""
    if holds:
        yield _contents(node)
    match node.op:
        case Op.ATTR:
            yield _binding(key(node))
            yield from _read(node.args[0], False)
        case Op.ITEM:
            yield from _read(node.args[0], True)
            for one in node.args[1:]:
                yield from _read(one, False)
        case Op.COMPARE:
            by_identity = node.extra in {("Is",), ("IsNot",)}
            for one in node.args:
                yield from _read(one, not by_identity)
        case Op.CALL:
            asks_type = node.args[0].extra in _OF_IDENTITY
            for one in node.args:
                yield from _read(one, not asks_type)


_OF_IDENTITY = frozenset({"builtins.isinstance", "builtins.type", "builtins.id", "builtins.callable"})


def _of_method(owner: Class, method: str) -> Iterator[tuple[str, bool]]:
    """The attributes of its object that a method sets, or fills, itself or by other methods; True where it sets one."""
    pending = [method]
    for one in pending:  # grows by the methods that each calls
        home = next((each for each in owner.lineage() if one in each.methods), None)
        if home is not None:
            called, changed = home.changes.get(one) or home.changes.setdefault(one, _read_in(home.methods[one]))
            pending += called.difference(pending)
            yield from changed


def _read_in(method: Function) -> tuple[set[str], set[tuple[str, bool]]]:
    """The methods of its own object that a method calls, and the attributes that it sets or fills."""
    called, changed = set[str](), set[tuple[str, bool]]()
    if "staticmethod" in method.decorators or isinstance(method.syntax, ast.Module):
        return called, changed
    first = next((one.arg for one in [*method.syntax.args.posonlyargs, *method.syntax.args.args]), "")
    for syntax in walk(method.syntax) if first else ():
        if (name := _own_call(syntax, first)) is not None:
            called.add(name)
        if (change := _own_change(syntax, first)) is not None:
            changed.add(change)
    return called, changed


def changed_by(syntax: ast.AST) -> tuple[ast.expr | None, str]:
    """What an expression may change, and the method by which it does: an item that is set is put there."""
    match syntax:
        case ast.Call(func=ast.Attribute(value=value, attr=method)):
            return value, method
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            return value, "put"
    return None, ""


def _own_call(syntax: ast.AST, itself: str) -> str | None:
    """`self.fill(…)`"""
    match syntax:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=base), attr=called)) if base == itself:
            return called
    return None


def _own_change(syntax: ast.AST, itself: str) -> tuple[str, bool] | None:
    """`self.x = …`; `self.x[k] = …` and `self.x.append(…)`"""
    match syntax:
        case ast.Attribute(value=ast.Name(id=base), attr=name, ctx=ast.Store() | ast.Del()) if base == itself:
            return name, True
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=base), attr=name), ctx=ast.Store() | ast.Del()) if (
            base == itself
        ):
            return name, False
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=base), attr=name), attr=called)) if (
            base == itself and called in CHANGING
        ):
            return name, False
    return None
