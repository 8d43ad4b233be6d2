"""Displays that move their values, but one: `x, y = x.cuda(), y`."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node, Op

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

LEFT = "left-in-display"


def left_in_displays(births: "Births") -> None:
    """Who moves a row by one statement, and names a value in it, means to move that too."""
    for row in births.module.of(Op.SEQUENCE):
        if row.extra == "tuple":
            moved = [one for one in row.args if births.is_move(one) and births.is_elsewhere(one)]
            for one in _left(row) if moved else ():
                for root in births.roots(one):
                    if births.kinds.of(root) in {None, Kind.TENSOR} and not births.moves_of(root):
                        births.beside_moved(root, root.args[0] if root.op is Op.ITEM else None)
                        births.graph.supports(root, moved[-1], LEFT, moved[-1].guard)


def _left(row: Node) -> Iterator[Node]:
    """The values of a row that an assignment binds to their own names again."""
    match row.statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if row.syntax is not None:
            pass
        case _:
            return
    if len(targets) == len(values) == len(row.args) and row.syntax is row.statement.value:
        for target, value, one in zip(targets, values, row.args):
            if isinstance(value, ast.Name) and ast.unparse(target) == value.id:
                yield one
