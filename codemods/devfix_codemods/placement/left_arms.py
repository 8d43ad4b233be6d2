"""What one arm of a choice leaves as it makes it, where the others move theirs:
`net = A().to(device) if small else B()`, and `y = y.to(device) if torch.is_tensor(y) else torch.tensor(y)`."""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING

from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import choices, made_of
from devfix_codemods.ir.keys import key
from devfix_codemods.ir.nodes import Store, contradictory
from devfix_codemods.placement.arguments import has_device
from devfix_codemods.placement.device_conditions import asks_for_place
from devfix_codemods.placement.naming import sounds_like_class
from devfix_codemods.placement.places import Place, Where
from devfix_codemods.placement.stateless_modules import is_stateless
from devfix_codemods.placement.targets import moving_call
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
    for arms in _stored_arms(births):
        _left_tensors(births, arms, lambda one, _: one.op is Op.CALL)
    for arms in _all_arms(births):
        _left_tensors(births, arms, lambda one, moved: not births.roots(moved).isdisjoint(made_of(one)))


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


def _left_tensors(births: "Births", arms: Sequence[Node], is_alike: Callable[[Node, Node], bool]) -> None:
    """What an arm makes belongs where another one takes what is alike: `y.to(device)`, `torch.as_tensor(y)`."""
    places = {one: place for one in arms if (place := _place_of_tensor(births, one)) is not None}
    for one in arms if places else ():
        made = _left_tensor(births, one, arms)
        alike = [place for moved, place in places.items() if made is not None and is_alike(made, moved)]
        if made is not None and alike and alike[0].node is not None:
            _belongs(births, made, alike[0].where, alike[0].node)


def _belongs(births: "Births", made: Node, where: Where, there: Node) -> None:
    if where is Where.DEVICE:
        if not there.guard <= made.guard:
            there = copy(there)  # the same expression, where it is not reached on the other arm alone
            there.guard = made.guard
        births.wanted_at(there)
    births.graph.supports(made, there, "arms-one", made.guard)


def _stored_arms(births: "Births") -> Iterator[list[Node]]:
    """What the branches of a test store under one key: `labels[task] = …`."""
    for function in births.module.functions:
        stored: dict[object, list[Store]] = defaultdict(list)
        for one in function.stores:
            index = key(one.index) if one.index is not None else one.key
            stored[one.base, index, one.is_attribute].append(one)
        for row in stored.values():
            arms = [row[0], *(one for one in row[1:] if contradictory(row[0].guard, one.guard))]
            if len(arms) > 1:
                yield [one.value for one in arms]


def _place_of_tensor(births: "Births", arm: Node) -> Place | None:
    """Where an arm takes a tensor: `y.to(device).long()`."""
    moved = moving_call(arm)
    if moved.op is not Op.CALL or not births.is_move(moved) or births.kinds.is_module(moved):
        return None
    place = births.place_of_move(moved)
    return place if place is not None and place.where in {Where.DEVICE, Where.FOLLOWS} else None


def _left_tensor(births: "Births", arm: Node, arms: Sequence[Node]) -> Node | None:
    """The tensor that an arm makes in its own statement, under no condition that asks for a device, and that nothing
    moves."""
    for made in (arm, *births.roots(arm)):
        known = births.graph.is_made(made) and made.statement is arm.statement and not has_device(made)
        told = any(asks_for_place(arm.function, arm.guard ^ one.guard) for one in arms)
        if known and not told and not births.moves_of(made) and not births.moves_of(arm):
            return made
    return None


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
