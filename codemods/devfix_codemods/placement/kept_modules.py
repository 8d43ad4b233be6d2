"""Modules that an object keeps, of which a method moves several: `self.critic.to(device)`, and not `self.actor`."""

from collections import defaultdict
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Class, Node, Op
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.together import supports

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


def kept_modules(births: "Births") -> None:
    """Who moves several modules of an object by a method means to move all that the constructor makes."""
    for owner in births.module.classes:
        if owner not in births.kinds.module_classes and "__init__" in owner.methods:
            moves = _moves(births, owner)
            moved = {attribute for each in moves.values() for attribute in each}
            for method, each in moves.items():
                of_modules = any(map(births.kinds.is_module, map(_kept, each.values())))
                if of_modules and (len(each) > 1 or method in _MOVING):
                    _left(births, owner, moved, each)
                    break


def _moves(births: "Births", owner: Class) -> dict[str, dict[str, Node]]:
    """The moves of what an object keeps, by the method and the attribute."""
    found: dict[str, dict[str, Node]] = defaultdict(dict)
    for function in owner.methods.values():
        for node in function.nodes:
            if node.op is Op.CALL and births.is_move(node) and births.is_elsewhere(node):
                kept = _kept(node)
                known = births.kinds.of(kept) in {None, Kind.MODULE}
                if known and kept.op is Op.ATTR and kept.args[0] is function.self_node:
                    found[function.name][str(kept.extra)] = node
    return found


def _kept(move: Node) -> Node:
    """`self.net` of `self.net.to(device)`"""
    return move.args[0].args[0]


def _left(births: "Births", owner: Class, moved: set[str], moves: dict[str, Node]) -> None:
    made = owner.methods["__init__"]
    for store in made.stores:
        value = store.value
        kept = store.is_attribute and store.base is made.self_node and store.key not in moved
        if kept and births.graph.is_born(value, {Birth.MODULE}) and not births.moves_of(value):
            supports(births.graph, value, {one: [one] for one in moves.values()}, "modules")


_MOVING = frozenset({"to", "cuda", "to_cuda", "to_gpu", "to_device"})
"""Methods that by their names move all that an object keeps."""
