"""What mappings and lists hold: what is put into one is what is read of it, under keys that are computed, or at all."""

from collections import defaultdict
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.items import is_slice
from devfix_codemods.ir.nodes import Store

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def say_filled(kinds: "Kinds", function: Function) -> None:
    """Say of the parts of what a function fills with tensors alone that they are tensors."""
    filled: dict[Node, list[Store]] = defaultdict(list)
    for store in function.stores:
        if not store.is_attribute and store.base.op in _EMPTY and not store.base.args:
            filled[store.base].append(store)
    of_tensors = {
        base
        for base, stores in filled.items()
        if all(one.key is None and kinds.of(one.value) is Kind.TENSOR for one in stores)
    }
    for node in function.nodes if of_tensors else ():
        if node.op in _PARTS and node.args[0] in of_tensors and not is_slice(node):
            kinds.say(node, Kind.TENSOR, 1)


_EMPTY = frozenset({Op.MAPPING, Op.SEQUENCE})
_PARTS = frozenset({Op.ITEM, Op.ITER})
