"""Twins that no statement shows side by side: what one function of the file gives at several calls, and what one callee
gets as the same argument at several calls. What the program does for one of them, it means for all."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind, canonical, effect, method_effect
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.items import whole
from devfix_codemods.ir.keys import before_methods, key, names
from devfix_codemods.placement.arguments import is_none
from devfix_codemods.placement.graph import MADE
from devfix_codemods.placement.joined import Joined
from devfix_codemods.placement.parallel_statements import exact_shape
from devfix_codemods.placement.together import supports

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


def twin_values(births: "Births", joined: Joined) -> None:
    """What is given, or got, alike in one function belongs where a twin of it is moved."""
    for members in _given_by_one(births):
        births.left_by_calls.update(_left(births, joined, members))
    for members in _got_as_one(births):
        _left(births, joined, members)


def _left(births: "Births", joined: Joined, members: list[Node]) -> list[Node]:
    """Those of several twins that stay behind, which are said to belong where the others are moved."""
    moved = {one: moves for one in members if (moves := _moves(births, one))}
    left = [one for one in members if moved and one not in moved and _may_stay(births, joined, one)]
    for one in left:
        births.beside_moved(one, None, "given-beside-moved")
        supports(births.graph, one, moved, "twin")
    return left


def _given_by_one(births: "Births") -> Iterator[list[Node]]:
    """`a = pad(xs)`, `b = pad(ys)`: the calls, in one function, of each function of the file that makes its results on
    the host."""
    rows: dict[tuple[Function, Function], list[Node]] = defaultdict(list)
    for call, called in births.calls.items():
        if call.args[0].op is not Op.CLASS and _makes_on_host(births, called):
            rows[called, call.function].append(call)
    yield from (row for row in rows.values() if len(row) > 1)


def _makes_on_host(births: "Births", called: Function) -> bool:
    """Whether all that a function gives back is made by it, and not moved."""
    values = [value for value, _ in called.returns if not is_none(value)]
    made = [root for one in values for root in births.roots(before_methods(whole(one)))]
    placed = any(_moves(births, one) for one in values) or any(map(births.is_move, made))
    return bool(values) and not placed and all(births.graph.is_born(root, MADE) for root in made)


def _got_as_one(births: "Births") -> Iterator[list[Node]]:
    """`net.encode(z, parents=a)`, `net.encode(z, parents=b)`: what one callee, that the catalogue does not know, gets
    as one argument, and what is made by expressions that are alike but for names and moves."""
    rows: dict[object, list[Node]] = defaultdict(list)
    for function in births.module.functions:
        for call in function.nodes:
            if call.op is Op.CALL and _is_unknown(call.args[0]):
                for place, (one, word) in enumerate(zip(call.args[1:], call.extras)):
                    shape = exact_shape(one) if one.op is Op.CALL else None
                    if shape is not None:
                        rows[function, key(call.args[0]), word or place, shape].append(one)
    yield from (unique for row in rows.values() if len(unique := [*dict.fromkeys(row)]) > 1)


def _is_unknown(callee: Node) -> bool:
    """Whether the catalogue says nothing of a function, nor of a method."""
    known = [effect(canonical(one)) for one in names(callee)]
    if known:
        return all(one is None for one in known)
    return callee.op is not Op.ATTR or method_effect(str(callee.extra)) is None


def _moves(births: "Births", value: Node) -> list[Node]:
    """The moves of a value, be it moved in the expression that makes it."""
    found = births.moves_of(value)
    chain = value
    while chain.op is Op.CALL and chain.args[0].op is Op.ATTR and not names(chain.args[0]):
        if births.is_move(chain) and births.is_elsewhere(chain):
            return [chain, *found]
        chain = chain.args[0].args[0]
    return found


def _may_stay(births: "Births", joined: Joined, value: Node) -> bool:
    """Whether a value may be a tensor that is wanted elsewhere, and is computed of nothing that is there."""
    if births.kinds.of(value) not in {None, Kind.TENSOR} or joined.is_moved(value) or joined.ends_on_host(value):
        return False
    return not any(births.is_move(one) or births.moves_of(one) for one in _way(value))


def _way(value: Node) -> Iterator[Node]:
    """A value, and what it is computed of, or is a part of, as far as so many steps lead."""
    pending = [value]
    for one in pending:  # grows
        yield one
        if len(pending) >= MOST_STEPS:
            continue
        if one.op is Op.CALL:
            called = one.args[0].args if one.args[0].op is Op.ATTR and not names(one.args[0]) else ()
            pending += [each for each in (*called, *one.args[1:]) if each not in pending]
        elif one.op in _HOLDING or one.op is Op.PHI:
            pending += [each for each in one.args if each not in pending]


MOST_STEPS = 40
_HOLDING = frozenset({Op.ITEM, Op.SEQUENCE, Op.MAPPING, Op.COMPREHENSION})
