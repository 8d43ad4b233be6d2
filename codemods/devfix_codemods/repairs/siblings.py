"""The style of siblings: what comes from one batch is moved by the same words, and in the same place."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from devfix_codemods.catalogue import libraries
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.calls import bound, method
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.places import Place, Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cut import chain


def like_siblings(analysis: Analysis, conflict: Conflict) -> Conflict:
    """The conflict with the move of the sibling before it as its end, where all siblings are moved to one place.

    Where none stands before it, the first one that is moved. What is moved on other paths alone says nothing here.
    """
    births = analysis.births
    moves = [
        (one.index, move)
        for one in _siblings(conflict.birth.node)
        for move in births.moves_of(one)
        if move.function is one.function
        and births.is_move(move)
        and _is_kept(move)
        and not contradictory(move.guard, conflict.guard)
        and not _follows(analysis, move, conflict.birth.node)
    ]
    if len({_target(move) for _, move in moves}) != 1:
        return conflict
    preceding = [(at, move) for at, move in moves if at < conflict.birth.node.index]
    beside = max(preceding, key=_order)[1] if preceding else min(moves, key=_order)[1]
    return replace(conflict, end=Source(beside, Place(Where.DEVICE, births.moves[beside].node), Birth.MOVE, ()))


def _follows(analysis: Analysis, move: Node, node: Node) -> bool:
    """Whether a sibling is moved to where the value itself is: `y.to(x.device)`."""
    births = analysis.births
    place = births.moves.get(move)
    followed = place.node if place is not None and place.where is Where.FOLLOWS else None
    return followed is not None and node in births.roots(followed)


def _order(moved: tuple[int, Node]) -> tuple[int, int]:
    return moved[0], moved[1].index


def comes_first(analysis: Analysis, node: Node, move: Node) -> bool:
    """Whether a value is unpacked before the sibling that is moved."""
    moved = [one for one in _siblings(node) if move in analysis.births.moves_of(one)]
    return bool(moved) and all(node.index < one.index for one in moved)


def count_moved(analysis: Analysis, node: Node) -> int:
    """How many of those that are unpacked beside a value are moved."""
    return sum(bool(analysis.births.moves_of(one)) for one in _siblings(node))


def _siblings(node: Node) -> list[Node]:
    """What is unpacked from the same value, from a part of it, `(left, right), same`, or from the value itself."""
    bases = {node, *_whole(node)}
    return [
        one
        for one in node.function.nodes
        if one.op is Op.ITEM and one is not node and not bases.isdisjoint((one.args[0], *_whole(one.args[0])))
    ]


def _whole(part: Node) -> tuple[Node, ...]:
    return part.args[:1] if part.op is Op.ITEM else ()


def _is_kept(move: Node) -> bool:
    """`x = x.to(device)`, as against a move inside of a call."""
    value = move.statement.value if isinstance(move.statement, ast.Assign) else None
    values = value.elts if isinstance(value, ast.Tuple) else [value]
    return any(move.syntax in chain(one) for one in values)


def _target(move: Node) -> str:
    """Where a move takes what it moves, as it is written."""
    given = [one.syntax for one in move.args[1:2]]
    return ", ".join(ast.unparse(one) for one in given if isinstance(one, ast.expr))


def assigned(statement: ast.stmt | None) -> str | None:
    """What a statement moves, as it is called there: `x = x.to(device)`, `net.cuda()`."""
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
            return ast.unparse(target)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as moved))):
            return ast.unparse(moved)
    return None


def is_container(analysis: Analysis, node: Node) -> bool:
    """Whether something of this name is read by keys, or unpacked, anywhere in the file: it has no `.to`."""
    if analysis.kinds.is_container(node) or _is_unpacked_where_given(analysis, node):
        return True
    users = analysis.module.users
    if any(one.op is Op.ATTR and one.extra in libraries.FIELDS_OF_GRAPHS for one in users.get(node, ())):
        return False  # graphs of DGL have `.to`, whatever else has this name
    same = {node, *(analysis.called[node.syntax.id] if isinstance(node.syntax, ast.Name) else ())}
    for one in (user for each in same for user in users.get(each, ())):
        if one.op is Op.ITER and any(each.args[:1] == (one,) and _reads_key(each) for each in one.function.nodes):
            return True
        if one.op is Op.ATTR and one.extra in _OF_MAPPINGS:
            return True
        if (_reads_key(one) or _measures_first(one)) and one.args[0] in same:
            return True
        if one.op is Op.CALL and isinstance(one.extra, tuple):
            stars = (each for each, word in zip(one.args[1:], one.extra) if word in {"*", "**"})
            if not same.isdisjoint(stars):
                return True
    return False


def _is_unpacked_where_given(analysis: Analysis, node: Node) -> bool:
    """Whether a batch is given to a function of this file that takes its first, second, … part, or parts by text."""
    if is_read_by_key_where_given(analysis, node):
        return True
    return node.op is Op.ITER and any(isinstance(one.extra, int) for one in _taken_where_given(analysis, node))


def is_read_by_key_where_given(analysis: Analysis, node: Node) -> bool:
    """Whether a value is given to a function, or to a module, of this file that reads it by keys: `batch["x"]`."""
    return any(map(_reads_key, _taken_where_given(analysis, node)))


def _taken_where_given(analysis: Analysis, node: Node) -> Iterator[Node]:
    """What functions and modules, of this file and of those that it imports, take out of what they are given."""
    for call in analysis.module.users.get(node, ()):
        called = _called(analysis, call)
        for parameter in (one for argument, one in bound(call, called) if argument is node) if called else ():
            yield from (one for one in parameter.function.nodes if one.args[:1] == (parameter,))


def _called(analysis: Analysis, call: Node) -> Function | None:
    """The function that a call runs: that of a module is its `forward`."""
    if call.op is not Op.CALL or call in analysis.calls:
        return analysis.calls.get(call)
    owner = analysis.kinds.class_of(call.args[0])
    if owner is not None and owner in analysis.kinds.module_classes:
        return method(owner, "forward")
    defined = analysis.births.imported.definition(call.args[0])
    return defined if isinstance(defined, Function) else None


def _measures_first(node: Node) -> bool:
    """`xs[0].size(0)`: the batch size is that of the first of several tensors."""
    if node.op is not Op.ITEM or node.extra != 0:
        return False
    read = {one for one in node.function.nodes if one.op is Op.ATTR and one.args[0] is node}
    return any(
        (one.op is Op.CALL and one.args[0] in read and one.args[0].extra == "size" and _is_zero(one.args[1:]))
        or (one.op is Op.ITEM and one.args[0] in read and one.args[0].extra == "shape" and one.extra == 0)
        for one in node.function.nodes
    )


def _is_zero(given: tuple[Node, ...]) -> bool:
    return [one.extra for one in given] == [0]


def _reads_key(node: Node) -> bool:
    """`x["key"]`"""
    return node.op is Op.ITEM and isinstance(node.extra, str)


_OF_MAPPINGS = frozenset({"items", "keys", "values", "get"})
