"""Rows of values: what was unpacked from one value, stands in one display, or is given to one function."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key, names
from devfix_codemods.placement.arguments import reads_key

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


class Row(NamedTuple):
    """The values of a row, and what they were unpacked from."""

    base: Node | None
    values: list[Node]
    moves_on_the_spot: bool
    """Whether one is moved where the row stands, as another one of its sort would be."""


def rows_of_values(births: "Births") -> Iterator[Row]:
    parts: dict[Node, list[Node]] = defaultdict(list)
    for node in births.module.nodes():
        if node.op is Op.ITEM:
            parts[node.args[0]].append(node)
        elif node.op is Op.SEQUENCE and node.extra == "tuple":
            yield from _in_display(births, node, node.args)
        elif node.op is Op.CALL and not names(node.args[0]):
            yield from _in_display(births, node, node.args[1:])
    for base, values in parts.items():
        yield Row(base, values, False)
    for function in births.module.functions:
        itself = function.self_node
        yield Row(None, [one for one in function.parameters.values() if one is not itself], False)


def _in_display(births: "Births", display: Node, values: tuple[Node, ...]) -> Iterator[Row]:
    """`x, y.cuda()`: values of one sort, side by side; attributes are of one sort where they are of one object."""
    if moves := [one for one in values if births.is_move(one)]:
        moved = {_sort(root) for one in moves for root in births.roots(one)}
        roots = (root for one in values for root in births.roots(one))
        on_the_spot = any(one.statement is display.statement for one in moves)
        yield Row(None, [one for one in roots if _sort(one) in moved and _is_from_outside(one)], on_the_spot)


def _is_from_outside(node: Node) -> bool:
    return node.op in _FROM_OUTSIDE or reads_key(node)


def _sort(node: Node) -> object:
    if node.op is Op.ATTR:
        return node.op, key(node.args[0])
    if node.op is Op.ITEM and node.args[0].op is Op.ATTR:  # `tokenizer.codes["en"]`, which is no part of a batch
        return node.op, key(node.args[0])
    return Op.ITEM if reads_key(node) else node.op


_FROM_OUTSIDE = frozenset({Op.PARAM, Op.ITEM, Op.ATTR, Op.ITER})
