"""What a function makes for itself, and nothing here can place, says that its callers are on the host."""

from collections.abc import Callable
from math import log

from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import MADE, OF_BATCHES, Birth, Source, Turn
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict, Step
from devfix_codemods.repairs.cut import Cut, name_at, text_of

_BORN = MADE | OF_BATCHES
SURE = 0.35
"""From which confidence on a conflict is evidence against another one."""
SURELY = 0.8
"""From which certainty on that a value meets another one, that is enough, and may meet others as surely."""
JOINS = 0.7
"""How surely the other one must come to where the first one is."""


def meets_host(analysis: Analysis, conflict: Conflict) -> bool:
    """Whether a caller has the value of a conflict to meet, and all callers have that on the host, or what meets it
    as surely: so that this is no tensor of a device either."""
    if conflict.end.birth is not Birth.PARAMETER or conflict.end.place.where is not Where.CALLER:
        return False
    given, end = analysis.given_on_host, conflict.end.node
    if end.op is Op.PARAM and (given.is_on_host(end) or given.is_plain(end)):
        return True
    enough = min(conflict.together, SURELY)
    nearer = (one for one in analysis.ends(conflict.birth) if one.together >= enough)
    return any(
        one.end.node.op is Op.PARAM and not one.begins_beside and given.is_on_host(one.end.node) for one in nearer
    )


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


def operands_left(
    analysis: Analysis, conflict: Conflict, cut: Cut, is_moved: Callable[[Conflict], bool]
) -> set[Source]:
    """The other values of the host that surely are operands beside this one, and that nothing as safe moves: what both
    of them are given to works where they are, and fails where one of them is moved, but to where the other is."""
    if conflict.birth.birth is Birth.READER or conflict.end.place.where is not Where.DEVICE:
        return set()
    ends = (one for one in analysis.ends(conflict.birth) if _stands_beside(one, conflict))
    left = (one for one in ends if not _follows(one, conflict, cut))
    beside = {one.end for one in left if one.end.birth in _BORN and _is_nearest(analysis, one)}
    return beside - {one.birth for one in analysis.conflicts if one.birth in beside and is_moved(one)}


def _follows(one: Conflict, conflict: Conflict, cut: Cut) -> bool:
    """Whether a move goes where the other operand is, `torch.ones(3, device=x.device)`, or is made only where that is
    on a device."""
    text = " ".join(map(text_of, cut.edits))
    meeting = one.meeting
    steps = [step.node for step in one.path]
    operand = steps[steps.index(meeting.node) + 1 :][:1] if meeting is not None else []
    named = any((name := name_at(each, meeting.node)) and f"{name}.device" in text for each in operand if meeting)
    return named or (" if " in f" {text}" and contradictory(one.guard, conflict.guard))


def _is_nearest(analysis: Analysis, one: Conflict) -> bool:
    """Whether a path leads to a value of the host, and not on from one that it is a part of, to a 0-dim tensor, which
    any other may meet, or to an index, which may stay where it is."""
    graph = analysis.graph
    if one.end.scalar or one.end.node in graph.scalars or any(each.edge.link.startswith("index") for each in one.path):
        return False
    return not any(source.is_on_host for step in one.path[:-1] for source in graph.sources.get(step.node, ()))


def _stands_beside(one: Conflict, conflict: Conflict) -> bool:
    """Whether a path leads to a value of the host by an operation of both, and not by what the device gives."""
    if one.end.place.where is not Where.HOST or one.confidence < JOINS or one.is_supported:
        return False
    steps = iter(one.path)
    met = next((step.node for step in steps if step.edge.turn is Turn.MEET), None)
    behind = next(steps, None)
    if met is None or behind is None:
        return False
    way = [step.node for step in conflict.path]
    if met not in way or (behind.node not in way and behind.node.index < met.index):
        return True
    return behind.node in way and _may_be_on_host(behind.node, next(steps, None), way)


def _may_be_on_host(operand: Node, to_host: Step | None, way: list[Node]) -> bool:
    """Whether an operand on the way to the device is not given there: the way leads on to where the operand is used
    later, or by one of several values that it may be, of which another one is on the host."""
    following = next(iter(way[way.index(operand) + 1 :]), None)
    if following is None or (to_host is not None and to_host.node is following):
        return False
    return operand.op is Op.PHI or (following.function is operand.function and following.index > operand.index)


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
