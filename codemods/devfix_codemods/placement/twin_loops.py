"""Loops over a loader that call what it gives the same: what one of them moves, the others move."""

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key, method_name
from devfix_codemods.placement.joined import Joined, is_measure
from devfix_codemods.placement.manual_moves import is_thrown_away
from devfix_codemods.placement.operands import is_only_spread
from devfix_codemods.placement.together import supports

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


def twin_loops(births: "Births", joined: Joined) -> None:
    """What one loop over a loader moves, others move that call it the same."""
    loops: dict[object, list[Node]] = defaultdict(list)
    for node in births.module.nodes():
        if node.op not in _OF_LOOPS or node.function in births.host_functions:
            continue
        base = node.args[0] if node.op is Op.ITEM and node.args else node
        if base.op is not Op.ITER or (node is base and base.extra is not None):  # `for name, value in kept.items()`
            continue
        if isinstance(node.syntax, ast.Name) and births.kinds.of(node) in {None, Kind.TENSOR}:
            loops[_loop_of(node, base)].append(node)
    for twins in loops.values():
        moved = {one: moves for one in twins if (moves := births.moves_of(one))}
        if all(one.op is Op.AFTER or is_thrown_away(one) for moves in moved.values() for one in moves):
            continue  # a statement moves modules, which are the same in every loop
        for one in twins:
            users = births.module.users.get(one, ())
            left = any(not is_measure(each) and each.op is not Op.PHI for each in users)
            parts = any(each.op in _MADE_OF_IT and births.moves_of(each) for each in users)
            kept = is_only_spread(one, births.module.users) or is_kept_with_copies(births, one)
            if one in moved or parts or not left or kept:
                continue
            if not joined.is_moved(one):
                births.beside_moved(one, None)
                supports(births.graph, one, moved, "loop")


def is_kept_with_copies(births: "Births", node: Node) -> bool:
    """`rows.append((y, out.cpu()))`: a value that is only kept, beside what is copied to the host for that. So
    `ys.append(y)` beside `outs.append(out.cpu())`."""
    users = births.module.users.get(node, ())
    return bool(users) and all(
        any(map(_is_copy, one.args)) if one.op is Op.SEQUENCE else _is_kept_beside_copies(one, node) for one in users
    )


def _is_kept_beside_copies(call: Node, value: Node) -> bool:
    """Whether a value is added to a list, and a copy on the host is added to another one, under the same condition."""
    beside = (one for one in call.function.nodes if one.guard == call.guard and one is not call)
    return _is_added(call, value) and any(
        _is_added(one, each) for one in beside for each in one.args[1:] if _is_copy(each)
    )


def _is_added(call: Node, value: Node) -> bool:
    return method_name(call) in {"append", "extend"} and call.args[1:] == (value,)


def _is_copy(node: Node) -> bool:
    """`x.cpu()`, `x.detach().cpu().numpy()`"""
    return method_name(node) in {"cpu", "numpy", "tolist"}


def _loop_of(node: Node, base: Node) -> object:
    """What twin loops share: the name of what they give, at its place among the others, and in comprehensions, where
    names say little, what they go through."""
    named = node.syntax.id if isinstance(node.syntax, ast.Name) else None
    if isinstance(base.statement, ast.For | ast.AsyncFor):  # which may unpack its rows within
        return named, node.extra if node.op is Op.ITEM else None
    return node if _is_taken_once(base) else (named, key(base.args[0]), base.extra)


def _is_taken_once(base: Node) -> bool:
    """`x, y = next(iter(loader))`: often a batch that is shown, or measured."""
    match base.statement:
        case ast.Assign(targets=[target], value=ast.Call() as value):
            return base.syntax in {value, *ast.walk(target)}
    return False


_PARTS = frozenset({Op.ITEM, Op.ATTR})
_MADE_OF_IT = _PARTS | {Op.OPERATION}
_OF_LOOPS = frozenset({Op.ITEM, Op.ITER})
