"""Modules that an object keeps, of which a method moves several: `self.critic.to(device)`, and not `self.actor`."""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable
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
                if of_modules and (len(each) > 1 or method in MOVING):
                    _left(births, owner, moved, each)
                    break


def moved_where_made(births: "Births") -> None:
    """Who moves parts of an object where they are made, `self.a = A().to(device)`, means to move all of them, alike or
    not: `self.b = A()` stays behind. A module may do so behind that, `self.a = self.a.cuda()`."""
    for owner in births.module.classes:
        made = owner.methods.get("__init__")
        if made is None or made.self_node is None:
            continue
        kept = {str(one.key): one.value for one in made.stores if one.is_attribute and one.base is made.self_node}
        is_module = births.kinds.derives_from_module(owner)
        moved = dict.fromkeys(one for one in kept.values() if _is_moved_where_made(births, one, later=is_module))
        if not moved or _is_moved_as_whole(births, owner):  # which reads the whole file
            continue
        elsewhere = {attribute for each in _moves(births, owner).values() for attribute in each}
        if is_module and not _moves_most(births, kept.values(), moved):
            continue  # whoever has a module moves all of its parts
        if is_module and any(one.statement is not _kept(one).statement for one in moved):
            if len(moved) < SURELY_ALL:
                continue
            kept = {one: part for one, part in kept.items() if not _is_for_host(births, owner, one, part)}
        for attribute, part in kept.items():
            twins = {one: [one] for one in moved if _maker(births, one) == _maker(births, part)}
            beside = twins or ({one: [one] for one in moved} if len(moved) >= SEVERAL else {})
            if beside and attribute not in elsewhere and _is_left_part(births, part):
                if part in births.parts:
                    births.graph.add(births.parts[part])
                supports(births.graph, part, beside, "modules")


SEVERAL = 2
"""How many parts must be moved where they are made, for one of another sort to be left behind."""


SURELY_ALL = 3
"""How many parts a constructor must move behind the statements that make them, to mean all of them."""


def _is_for_host(births: "Births", owner: Class, attribute: str, part: Node) -> bool:
    """Whether a part is called with copies on the host, or what it gives is moved, or it is made of other parts."""
    if any(one.op is Op.SEQUENCE or births.kinds.is_module(one) for one in part.args[1:]):
        return True
    for method in owner.methods.values():
        for call in method.nodes:
            callee = call.args[0] if call.op is Op.CALL else None
            if callee is None or callee.op is not Op.ATTR or callee.args[0] is not method.self_node:
                continue
            copied = any(births.graph.is_born(one, {Birth.CHOSEN_HOST}) for one in call.args[1:])
            if callee.extra == attribute and (copied or births.moves_of(call)):
                return True
    return False


def _moves_most(births: "Births", kept: Iterable[Node], moved: Collection[Node]) -> bool:
    """Whether a module moves its own parts, but for one at most: then nobody else has to."""
    left = [one for one in kept if one not in moved and _is_left_part(births, one)]
    return len(left) <= 1 and len(moved) > len(left)


def _is_moved_as_whole(births: "Births", owner: Class) -> bool:
    """Whether something in this file moves the objects of a class, or these themselves."""
    objects = (one for one in births.module.nodes() if births.class_of(one) is owner)
    own = (node for method in owner.methods.values() for node in method.nodes if _moves_itself(node))
    return any(own) or any(map(births.moves_of, objects))


def _moves_itself(node: Node) -> bool:
    """`self.to(device)`"""
    callee = node.args[0] if node.op is Op.CALL else None
    itself = callee is not None and callee.op is Op.ATTR and callee.args[0] is node.function.self_node
    return itself and callee is not None and callee.extra in {"to", "cuda"}


def _is_moved_where_made(births: "Births", kept: Node, *, later: bool) -> bool:
    """Whether what an object keeps is a move, in the statement that makes the module, or `later` in its function."""
    if kept.op is not Op.CALL or not births.is_move(kept) or not births.is_elsewhere(kept):
        return False
    made = (one for one in (*births.roots(kept), _kept(kept)) if births.kinds.is_module(one))
    return any(one.function is kept.function if later else one.statement is kept.statement for one in made)


def _maker(births: "Births", kept: Node) -> object:
    """What makes a module that is kept, moved or not."""
    made = _kept(kept) if births.is_move(kept) else kept
    return ast.unparse(made.args[0].syntax) if made.op is Op.CALL and made.args[0].syntax is not None else made


def _is_left_part(births: "Births", part: Node) -> bool:
    """Whether a module that is made here is moved by nothing, and holds tensors."""
    sources = [births.parts[part]] if part in births.parts else births.graph.sources.get(part, [])
    known = part.op is Op.CALL and any(one.birth is Birth.MODULE and "maybe-bare" not in one.links for one in sources)
    return known and not births.moves_of(part)


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
        if not store.is_attribute or store.base is not made.self_node or store.key in moved or births.moves_of(value):
            continue
        beside = {one: [one] for one in moves.values()}
        if births.graph.is_born(value, {Birth.MODULE}):
            supports(births.graph, value, beside, "modules")
        elif value.op is Op.PARAM and births.kinds.is_module(value) and len(moves) >= SEVERAL:
            field = owner.field_of(str(store.key))  # whoever gave it has the whole moved
            births.made_beside(field)
            supports(births.graph, field, beside, "modules")


MOVING = frozenset({"to", "cuda", "to_cuda", "to_gpu", "to_device"})
"""Methods that by their names move all that an object keeps."""
