"""What a function makes for itself, and nothing here can place, says that its callers are on the host."""

from collections.abc import Callable
from math import log

from devfix_codemods.ir import Node
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Birth, Turn
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict

SURE = 0.35
"""From which confidence on a conflict is evidence against another one."""
JOINS = 0.7
"""How surely the other one must come to where the first one is."""


def leaves_half(analysis: Analysis, conflict: Conflict, is_written: Callable[[Conflict], bool]) -> bool:
    """Whether another value stays on the host, and meets the same tensor of a caller where it does.

    A move of the first alone would repair nothing; that the code works at all says where its caller is.
    """
    if conflict.end.place.where not in {Where.CALLER, Where.MODULE}:
        return False
    meetings = _meetings(conflict)
    of_module = conflict.end.place.where is Where.MODULE  # whose attribute stays there, however surely
    return any(
        one.birth is not conflict.birth
        and (of_module or one.confidence >= SURE)
        and not meetings.isdisjoint(_meetings(each))
        and not is_written(one)
        and _surely_joins(each, conflict)
        for one, each in analysis.ending_at(conflict.end)
    )


def leaves_operand(analysis: Analysis, conflict: Conflict, is_safe: Callable[[Conflict], bool]) -> bool:
    """Whether another value of the host surely is an operand beside this one, and nothing as safe moves it: what both
    of them are given to works where they are, and fails where one of them is moved."""
    if conflict.birth.birth is Birth.READER or conflict.end.place.where is not Where.DEVICE:
        return False
    beside = {one.end for one in analysis.ends(conflict.birth) if _stands_beside(one, conflict)}
    return bool(beside) and any(one.birth in beside and not is_safe(one) for one in analysis.conflicts)


def _stands_beside(one: Conflict, conflict: Conflict) -> bool:
    """Whether a path leads to a value of the host by an operation of both, and not by what the device gives."""
    if one.end.place.where is not Where.HOST or one.confidence < JOINS or one.is_supported:
        return False
    steps = iter(one.path)
    met = next((step.node for step in steps if step.edge.turn is Turn.MEET), None)
    behind = next(steps, None)
    if met is None or behind is None:
        return False
    way = {step.node for step in conflict.path}
    return met not in way or (behind.node not in way and behind.node.index < met.index)


def meets_encoding(analysis: Analysis, conflict: Conflict, is_written: Callable[[Conflict], bool]) -> bool:
    """Whether the value belongs with an encoding as surely, which nothing brings to where the caller is."""
    if conflict.end.place.where is not Where.CALLER:
        return False
    written = {one.birth for one in analysis.conflicts if one.birth.birth is Birth.ENCODING and is_written(one)}
    return any(
        one.end.birth is Birth.ENCODING and one.end not in written and one.confidence >= conflict.confidence
        for one in analysis.ends(conflict.birth)
    )


def _surely_joins(one: Conflict, other: Conflict) -> bool:
    """Whether a value surely gets to one of those that another path goes through, whatever leads on from there."""
    way = {step.node for step in other.path}
    cost = 0.0
    for step in one.path:
        cost += step.edge.cost
        if step.node in way:
            return cost <= -log(JOINS)
    return False


def _meetings(conflict: Conflict) -> set[Node]:
    """The operations that a path goes through, upwards or down."""
    return {step.node for step in conflict.path if step.edge.turn is Turn.MEET}
