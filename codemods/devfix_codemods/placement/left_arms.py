"""Modules that one arm of a choice leaves as it makes them, where the others move theirs:
`net = A().to(device) if small else B()`."""

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import choices, made_of
from devfix_codemods.placement.arguments import has_device
from devfix_codemods.placement.device_conditions import asks_for_place
from devfix_codemods.placement.naming import sounds_like_class
from devfix_codemods.placement.stateless_modules import is_stateless
from devfix_codemods.placement.together import supports

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


def left_arms(births: "Births") -> None:
    """Whoever has what is chosen finds it in one place, whichever arm made it: all are moved, or somebody moves all."""
    for arms in _all_arms(births):
        moved = {one: [one] for one in arms if _is_moved(births, one)}
        for one in arms if moved else ():
            if one not in moved and _is_left(births, one, [*moved]):
                if births.is_told_device(one):
                    births.graph.sources.pop(one, None)  # that says as little here as of the arm that is moved
                births.made_beside(one)
                supports(births.graph, one, moved, "arms")


def _all_arms(births: "Births") -> Iterator[list[Node]]:
    """The values between which each choice of a file is made, and those that each of its functions returns."""
    inner = {one for choice in births.module.of(Op.PHI) for one in choice.args if one.op is Op.PHI}
    for choice in births.module.of(Op.PHI):
        chooses = choice.syntax is None or isinstance(choice.syntax, ast.IfExp)
        if chooses and choice not in inner:
            yield choices(choice)
    for function in births.module.functions:
        if len(function.returns) > 1:
            yield [value for value, _ in function.returns]


def _is_moved(births: "Births", arm: Node) -> bool:
    """`Net(3).to(device)`"""
    moved = arm.op is Op.CALL and births.is_move(arm) and births.is_elsewhere(arm)
    return moved and any(_is_module(births, one) for one in births.roots(arm))


def _is_left(births: "Births", arm: Node, moved: Sequence[Node]) -> bool:
    """Whether an arm makes an object of a class of modules, under no condition that asks for a device, and nothing
    moves that: what is told a device may do so itself, unless another arm moves what is told it as well."""
    if arm.op is not Op.CALL or not _is_module(births, arm) or births.is_move(arm):
        return False
    if any(map(births.is_move, births.moves_of(arm))):  # what only gets it with a device gets the other arms as well
        return False
    if arm.args[0].op is not Op.CLASS and not sounds_like_class(arm.args[0]):
        return False
    known = births.class_of(arm) is None or births.graph.sources.get(arm)
    if not known or has_device(arm) or is_stateless(arm) or births.is_sent_to_host(arm):
        return False
    modules = (one for one in arm.args[1:] if births.kinds.is_module(one))
    wrapped = [root for one in modules for root in (one, *births.roots(one))]
    if not set(made_of(arm)).isdisjoint(moved) or any(map(births.moves_of, wrapped)):
        return False  # it is where that is which it wraps
    roots = [root for one in moved for root in births.roots(one)]
    places_itself = births.is_told_device(arm) and not any(map(births.is_told_device, roots))
    told = any(asks_for_place(arm.function, arm.guard ^ one.guard) for one in moved)
    return not places_itself and not told


def _is_module(births: "Births", made: Node) -> bool:
    unread = made.op is Op.CALL and births.kinds.of(made) is None and sounds_like_class(made.args[0])
    return unread or births.kinds.is_module(made)
