"""Values that the code itself wants on the host, whatever stands beside them is moved to."""

from collections.abc import Sequence

from devfix_codemods.ir.guards import common, covers
from devfix_codemods.ir.nodes import Guard, Node, Op
from devfix_codemods.placement.graph import Birth, Turn
from devfix_codemods.placement.search import Conflict

HOST_WINS = 0.6
"""How much weaker a path to the host may be that settles where something is."""


def is_wanted_on_host(conflict: Conflict, found: Sequence[Conflict]) -> bool:
    """Whether the value itself meets what is copied to the host, or numpy reads it: then its neighbours say nothing.

    What it meets on each branch of a choice it meets: rows are gathered by one branch for the first, by another for
    the rest.
    """
    known = conflict.guard | _held_where_used(conflict.birth.node)
    return covers([one.guard - known for one in found if _asks_for_host(conflict, one)])


def without_neighbours(elsewhere: Sequence[Conflict], found: Sequence[Conflict]) -> list[Conflict]:
    """Those of several conflicts that do not rest on the neighbours of what is wanted on the host."""
    return [one for one in elsewhere if not (one.begins_beside and is_wanted_on_host(one, found))]


def _held_where_used(value: Node) -> Guard:
    """What holds wherever anything is done with a value, or given to it, as what is asserted before."""
    users = [one.guard for one in value.function.module.users.get(value, ()) if not _only_asks(one)]
    return common(users)


def _only_asks(user: Node) -> bool:
    """`metric.compute()`"""
    calls = user.function.module.users.get(user, ()) if user.op is Op.ATTR else ()
    return bool(calls) and all(one.op is Op.CALL and len(one.args) == 1 for one in calls)


def is_left_with_its_result(conflict: Conflict, found: Sequence[Conflict]) -> bool:
    """Whether what a value was computed to, and not that itself, is left behind beside others that are moved: the
    operands of those were on the host, too."""
    left = {one.end.node for one in found if one.end.birth is Birth.SIBLING}
    computed = next((at for at, step in enumerate(conflict.path) if step.edge.turn is Turn.MEET), len(conflict.path))
    results = [at for at, step in enumerate(conflict.path) if at >= computed and step.node in left]
    return any(Conflict.is_beside(step) for at in results for step in conflict.path[at + 1 : at + 2])


def _asks_for_host(conflict: Conflict, one: Conflict) -> bool:
    """Whether a path leads to what is wanted on the host, surely enough.

    An index on the host may pick from what is anywhere. Why a reader may want no copy is no doubt here: it writes
    through the array.
    """
    return (
        one.end.birth in {Birth.READER, Birth.CHOSEN_HOST}
        and one.together >= HOST_WINS * conflict.confidence
        and not one.is_supported
        and not any(step.edge.link.startswith("index") for step in one.path)
    )
