"""Objects that one class makes, whether it is read or not: they are of one kind."""

from collections import defaultdict
from collections.abc import Hashable
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key
from devfix_codemods.placement.calls import moved_by
from devfix_codemods.placement.naming import sounds_like_class

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def made_by_one_class(kinds: "Kinds") -> None:
    """What the class of a module makes is a module, and has tensors where the program moves one of them."""
    made: dict[Hashable, list[Node]] = defaultdict(list)
    for node in kinds.module.of(Op.CALL):
        callee = node.args[0]
        if callee.op is Op.CLASS or _makes_object(callee):
            made[callee.extra if callee.op is Op.CLASS else key(callee)].append(node)
    for one in _moved_where_they_stand(kinds):
        kinds.say(one, Kind.MODULE, 1)
    moved, itself = moved_objects(kinds), {moved_by(node) for node in kinds.module.of(Op.CALL)}
    for alike in made.values():
        if len(alike) == 1 and alike[0] in itself:  # its copies are of its class, too
            kinds.of_moved_classes.update(alike)
        if len(alike) == 1 or not any(kinds.of(one) is Kind.MODULE for one in alike):
            continue
        for one in alike:
            if kinds.of(one) is None:
                kinds.say(one, Kind.MODULE, 1)
        if any(kinds.find(one) in moved for one in alike):
            kinds.stateful += alike
            kinds.of_moved_classes.update(alike)


def moved_objects(kinds: "Kinds") -> set[Node]:
    """What stands for all that `to` and `cuda` are called on."""
    return {kinds.find(moved) for node in kinds.module.of(Op.CALL) if (moved := moved_by(node)) is not None}


def _moved_where_they_stand(kinds: "Kinds") -> list[Node]:
    """Objects of classes, made of no tensors, that a statement of its own moves: `net = Net(3); net.to(device)`."""
    moved = (node.args[0] for node in kinds.module.of(Op.AFTER) if moved_by(node.args[1]) is not None)
    return [
        one
        for one in moved
        if one.op is Op.CALL
        and _makes_object(one.args[0])
        and kinds.of(one) is None
        and all(kinds.of(given) is not Kind.TENSOR for given in one.args[1:])
    ]


def _makes_object(callee: Node) -> bool:
    """Whether a callee is named as classes are, or as a method by which a class makes its objects: `Net.load(path)`."""
    if callee.op is Op.ATTR and callee.args[0].op in _NAMED and str(callee.extra).startswith(_MAKING):
        callee = callee.args[0]
    return callee.op in _NAMED and sounds_like_class(callee)


_MAKING = ("load", "from_", "build", "create", "make")
_NAMED = frozenset({Op.REF, Op.ATTR, Op.GLOBAL})
"""How classes of other files are named: imported by their names, with their files, or with all that these have."""
