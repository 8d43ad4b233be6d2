"""Attributes that a program moves by hand, in whatever class or function: `model.t = model.t.cuda()`."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.ir import Class, Node, Op

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


class ManualMoves:
    """What attributes are moved: of which class, or by name where the object is not known."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._fields: set[Node] = set()
        self._names: set[str] = set()
        for attribute in (*_moved(births), *_placed_by_helpers(births)):
            owner = births.class_of(attribute.args[0])
            if owner is not None:
                self._fields |= {one.field_of(str(attribute.extra)) for one in owner.lineage()}
            else:
                self._names.add(str(attribute.extra))

    def holds(self, owner: Class, attribute: str) -> bool:
        """Whether an attribute of the objects of a class is moved by hand somewhere."""
        field = owner.field_of(attribute)
        if field in self._fields or attribute in self._names:
            return True
        attributes = self._births.attributes
        return field in attributes.asked or attributes.carries_all(owner, self._births.imported)


def _moved(births: "Births") -> Iterator[Node]:
    """Attributes whose moved values are kept, or thrown away: by an oversight that another rule tells."""
    kept = {(store.value, store.key) for store in births.module.stores if store.is_attribute}
    for root, moves in births.movers.items():
        if root.op is Op.ATTR and any((one, root.extra) in kept or is_thrown_away(one) for one in moves):
            yield root


def _placed_by_helpers(births: "Births") -> Iterator[Node]:
    """`self.t = place(self.t, device)`"""
    for store in births.module.stores:
        given = store.value.args[1:] if store.is_attribute and store.value.op is Op.CALL else ()
        if any(one.op is Op.PARAM and one.extra == "device" for one in given):
            yield from (one for one in given if one.op is Op.ATTR and one.extra == store.key)


def is_thrown_away(move: Node) -> bool:
    """Whether a statement moves, or copies, a value and keeps nothing of it."""
    return isinstance(move.statement, ast.Expr) and move.statement.value is move.syntax
