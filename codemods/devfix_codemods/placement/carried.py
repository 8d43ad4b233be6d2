"""Attributes that a program moves by hand, in whatever class or function: `model.t = model.t.cuda()`."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.ir import Class, Node, Op

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


class Carried:
    """What attributes are moved: of which class, or by name where the object is not known."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._fields: set[Node] = set()
        self._names: set[str] = set()
        for attribute in _moved(births):
            owner = births.class_of(attribute.args[0])
            if owner is not None:
                self._fields |= {one.field_of(str(attribute.extra)) for one in owner.lineage()}
            else:
                self._names.add(str(attribute.extra))

    def holds(self, owner: Class, attribute: str) -> bool:
        """Whether an attribute of the objects of a class is moved by hand somewhere."""
        return owner.field_of(attribute) in self._fields or attribute in self._names


def _moved(births: "Births") -> Iterator[Node]:
    """Attributes whose moved values are kept, or thrown away: by an oversight that another rule tells."""
    kept = {
        (store.value, store.key)
        for function in births.module.functions
        for store in function.stores
        if store.is_attribute
    }
    for root, moves in births.movers.items():
        if root.op is Op.ATTR and any((one, root.extra) in kept or _is_thrown_away(one) for one in moves):
            yield root


def _is_thrown_away(move: Node) -> bool:
    return isinstance(move.statement, ast.Expr) and move.statement.value is move.syntax
