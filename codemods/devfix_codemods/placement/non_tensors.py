"""Values that are no tensors, or may be none, by what the program does with them and by what they start as."""

from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.keys import key
from devfix_codemods.ir.nodes import contradictory

_SET_OF_TENSORS = frozenset({"data", "grad", "requires_grad", "names"})
"""The attributes that programs set of a tensor."""


def is_used_as_object(node: Node) -> bool:
    """Whether a value is called, asked for what only modules have, or given attributes: no tensor."""
    for one in node.function.nodes:
        if one.op is Op.CALL and one.args[0] is node:
            return True
        if one.op is Op.ATTR and one.args[0] is node and one.extra in rows.MODULE_ONLY:
            return True
    return is_given_attributes(node)


def is_given_attributes(node: Node) -> bool:
    """`options.rate = 0.1`: whether a value gets attributes that tensors have not."""
    return any(one.base is node and one.is_attribute and one.key not in _SET_OF_TENSORS for one in node.function.stores)


def holds_mappings(node: Node) -> bool:
    """Whether loops over a value ask what they take for its items: a list of mappings, as detection models get."""
    users = node.function.module.users
    taken = (one for one in users.get(node, ()) if one.op is Op.ITER and one.args[0] is node)
    return any(_is_mapping(user) for one in taken for user in users.get(one, ()))


def _is_mapping(user: Node) -> bool:
    """`row.items()`, `row["pixels"]`: what asks a value for this asks no tensor."""
    asked = user.op is Op.ATTR and user.extra in _OF_MAPPINGS
    return asked or (user.op is Op.ITEM and isinstance(user.extra, str))


_OF_MAPPINGS = frozenset({"items", "keys"})


def starts_as_number(node: Node, guard: Guard) -> bool:
    """Whether a parameter is a number where callers leave it out, and no test has said that it is a tensor here."""
    default = node.function.defaults.get(str(node.extra)) if node.op is Op.PARAM else None
    if default is None or not isinstance(default.extra, int | float) or isinstance(default.extra, bool):
        return False
    tests = (atom for atom, holds in guard if holds and isinstance(atom, tuple) and atom[0] == "isinstance")
    return not any(atom[1] == key(node) and "Tensor" in str(atom[2]) for atom in tests)


def may_be_number(node: Node, guard: Guard) -> bool:
    """Whether a value is a number on some path: `total = 0.0`, to which a loop adds."""
    found = [node]
    for one in found:  # grows
        if starts_as_number(one, guard):
            return True
        if one.op is Op.CONST and isinstance(one.extra, int | float):
            return True
        if one.op is Op.PHI:
            guards = one.extra if isinstance(one.extra, tuple) else ()
            possible = (each for each, under in zip(one.args, guards) if not contradictory(guard, under))
            found += (each for each in possible if each not in found)
    return False
