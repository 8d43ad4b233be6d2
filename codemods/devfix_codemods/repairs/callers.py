"""A device that is written into a helper suits all of its callers, or none."""

from collections.abc import Iterator

from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict


def suits_callers(analysis: Analysis, conflict: Conflict, *, at_call: bool = False) -> bool:
    """Whether what a function makes is needed elsewhere than on the host by all that call it, not by one of them.

    A move `at_call` moves what the innermost function gave to that call alone.
    """
    left = list(_returns(analysis, conflict))[at_call:]
    if not left:
        return True
    wanted = {
        site
        for one in analysis.ends(conflict.birth)
        if one.end.place.where is not Where.HOST
        for site in _returns(analysis, one).values()
    }
    calls = analysis.calls
    return all(call in wanted for call, called in calls.items() if called in left)


def _returns(analysis: Analysis, conflict: Conflict) -> dict[Function, Node]:
    """The functions that the value is returned from, on its way, by the calls of them that give it."""
    calls = analysis.calls
    left = _left(conflict)
    given = (one.args[0] if one.op is Op.ITEM else one for one in left)  # a part of what a call gives is unpacked
    return {calls[one]: one for one in given if one in calls}


def _left(conflict: Conflict) -> Iterator[Node]:
    """What the path comes to where it leaves functions that it did not enter."""
    inside: list[int] = []
    for step in conflict.path:
        site = step.edge.site
        if site > 0:
            inside.append(site)
        elif site < 0 and inside:
            inside.pop()
        elif site < 0:
            yield step.node
