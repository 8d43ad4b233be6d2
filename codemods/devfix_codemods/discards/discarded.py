"""Moves that are thrown away: `x.to(device)` as a statement of its own, whose copy the program still needs."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.assumptions.availability_tests import is_caught
from devfix_codemods.assumptions.index import Index, method
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key
from devfix_codemods.placement.graph import Birth, Turn
from devfix_codemods.placement.places import HOST, Place, Where
from devfix_codemods.project.names import is_dotted

_MOVE = re.compile(rb"\.(?:to|cuda|cpu|type_as)\(")
_BEFORE = re.compile(rb"(?:.*[;:])?[ \t]*[A-Za-z_\x80-\xff][\w.\x80-\xff]*(?:\[[^\]\n]*\])*")
"""What may stand on a line before a move that stands alone."""
_PARAMETERS = frozenset({"parameters", "named_parameters", "buffers", "named_buffers"})


@dataclass(frozen=True, slots=True, eq=False)
class Discard:
    """A move, or a conversion, that stands alone: of what, and what its result would be assigned to."""

    call: Node
    syntax: ast.Call
    statement: ast.Expr
    moved: ast.expr
    target: str
    place: Place | None
    """Where to; None for a conversion."""

    @property
    def receiver(self) -> Node:
        return self.call.args[0].args[0]

    @property
    def is_conversion(self) -> bool:
        return self.call.args[0].extra == "type_as"

    @property
    def container(self) -> Node | None:
        """The mapping or the sequence of which one entry is moved, or the batch of which one attribute is."""
        part = self.receiver
        of_batch = part.op is Op.ATTR and part.args[0].op in {Op.ITER, Op.CALL}
        return part.args[0] if of_batch or part.op in {Op.ITEM, Op.ITER} else None

    @property
    def is_any_entry(self) -> bool:
        """`x` in `for k, x in d.items()`, `d[k]` in `for k in d`."""
        entry = self.receiver
        if entry.op is Op.ITER or len(entry.args) < 2:
            return isinstance(self.moved, ast.Name) and self.target != self.moved.id
        keys = entry.args[1].args[0] if entry.args[1].op is Op.ITER else entry.args[1]
        return entry.args[0] in {keys, keys.args[0].args[0] if method(keys) == "keys" else keys}

    @property
    def owner(self) -> Node | None:
        """The module over whose parameters or buffers a loop goes."""
        loop = self.receiver.args[0] if self.receiver.op is Op.ITEM else self.receiver
        asked = loop.args[0] if loop.op is Op.ITER else None
        return asked.args[0].args[0] if asked is not None and method(asked) in _PARAMETERS else None


def may_discard(data: bytes) -> bool:
    """Whether some move may begin its line."""
    starts = ((data.rfind(b"\n", 0, one.start()) + 1, one.start()) for one in _MOVE.finditer(data))
    return any(_BEFORE.fullmatch(data, start, end) is not None for start, end in starts)


def discards(index: Index) -> Iterator[Discard]:
    """The moves of a file that stand alone, of whatever."""
    for call in index.calls:
        statement, syntax = call.statement, call.syntax
        if not isinstance(statement, ast.Expr) or statement.value is not syntax or not isinstance(syntax, ast.Call):
            continue
        if isinstance(syntax.func, ast.Attribute) and method(call) is not None:
            births = index.analysis.births
            target = _target(index, call, syntax.func.value)
            place = births.place_given(call) if births.is_move(call) else None
            converts = method(call) == "type_as" and len(call.args) == 2
            if target is not None and (converts or (place is not None and place.sure)):
                yield Discard(call, syntax, statement, syntax.func.value, target, place)


def _target(index: Index, call: Node, moved: ast.expr) -> str | None:
    """What has a name: itself, an item of such; for the value of a loop over `d.items()`, the item of `d`."""
    match moved:
        case ast.Name(id=name):
            return _entry(call.args[0].args[0], name) or name
        case ast.Subscript(value=value, slice=ast.Constant() | ast.Name()) if is_dotted(value):
            return index.text(moved)
        case ast.Attribute() if is_dotted(moved):
            return ast.unparse(moved)
    return None


def _entry(value: Node, name: str) -> str | None:
    """`d[k]`, in a loop over `k, v in d.items()`."""
    loop = value.statement if value.op is Op.ITER else None
    match loop:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=each), ast.Name(id=found)]),
            iter=ast.Call(func=ast.Attribute(value=mapping, attr="items"))
            | ast.Call(args=[ast.Call(func=ast.Attribute(value=mapping, attr="items"))]),
        ) if found == name and is_dotted(mapping):
            return f"{ast.unparse(mapping)}[{each}]"
    return None


# Whether the copy is missed


def is_missed(index: Index, discard: Discard) -> bool:
    """Whether what stays behind is used on, and was not there before; a trial or a rehearsal is meant as it is."""
    if is_caught(index, discard.call) or _is_there(index, discard):
        return False
    later = sorted(_later(index, discard), key=lambda one: one.index)
    if later and _is_made_again(index, discard, later[0]):
        return False
    kept = isinstance(discard.moved, ast.Attribute) or not discard.target.isidentifier() or discard.owner is not None
    return kept or bool(later)


def behind(index: Index, discard: Discard) -> list[Node]:
    """What the name stands for after the move: the value, and what it is joined to where paths meet."""
    users = (*index.users[discard.call], *index.users[discard.receiver])
    found = [one for one in users if one.index > discard.call.index and one.op in {Op.AFTER, Op.PHI}]
    for one in found:  # grows
        found += [user for user in index.users[one] if user.op is Op.PHI and user not in found]
    return found


def _later(index: Index, discard: Discard) -> Iterator[Node]:
    """What is done with the value after the move, or in the next turn of a loop."""
    after = behind(index, discard)
    own = {discard.call.args[0], *after}
    yield from (one for one in index.users[discard.receiver] if one.index > discard.call.index and one not in own)
    for one in after:
        yield from (user for user in index.users[one] if user not in own)
        if index.stores[one] or index.returned[one]:
            yield one


def _is_made_again(index: Index, discard: Discard, later: Node) -> bool:
    """Whether the next thing done with the value is the same move, which is kept: the first one is a rehearsal."""
    if later.op is not Op.ATTR or later.extra != discard.call.args[0].extra:
        return False
    kept = (one for one in index.users[later] if not isinstance(one.statement, ast.Expr))
    return any(_are_given_same(one, discard.call) for one in kept)


def _are_given_same(one: Node, other: Node) -> bool:
    return [*map(key, one.args[1:])] == [*map(key, other.args[1:])]


def _is_there(index: Index, discard: Discard) -> bool:
    """Whether the function itself made the value where it is moved to: nothing is lost with the copy."""
    graph = index.analysis.graph
    target = discard.place
    if target is None or target == HOST:
        return False
    seen, pending = {discard.receiver}, [discard.receiver]
    for one in pending:  # grows by what each was made of
        if one is target.node and target.where is Where.FOLLOWS:
            return True
        if any(source.birth is Birth.MOVE and _are_same(source.place, target) for source in graph.sources.get(one, ())):
            return True
        for edge in graph.edges.get(one, ()):
            other = edge.other
            makes = edge.turn is Turn.SAME or (edge.turn is Turn.MEET and edge.link == "operation")
            if makes and other.index < one.index and other.function is one.function and other not in seen:
                seen.add(other)
                pending.append(other)
    return False


def _are_same(one: Place, other: Place) -> bool:
    if one.node is None or other.node is None:
        return one == other
    return one.where is other.where and key(one.node) == key(other.node)


def are_beside(index: Index, one: Discard, other: Discard) -> bool:
    """Whether two such moves stand in one block, and go to the same place."""
    block = index.parents[one.statement]
    return block is index.parents[other.statement] and _are_given_same(one.call, other.call)
