"""Values that are made on the host, and meet there: what is done to one alone ends the program that ran before."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from devfix_codemods.findings import Fix, Safety
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import MADE, Turn
from devfix_codemods.placement.search import Conflict

SURELY = 0.9
"""How surely two values must meet."""
_TRUST = list(Safety)


def no_safer_than_operands(
    analysis: Analysis, conflict: Conflict, fix: Fix, remedy: Callable[[Conflict], tuple[Conflict, Fix] | None]
) -> Fix:
    """The fix of a value, trusted no more than those of the values that it meets on the host: all of them, or none."""
    worst = fix.safety
    for other in _operands(analysis, conflict):
        told = remedy(other)
        if told is not None and _TRUST.index(told[1].safety) > _TRUST.index(worst):
            worst = told[1].safety
    return replace(fix, safety=worst)


def _operands(analysis: Analysis, conflict: Conflict) -> Iterator[Conflict]:
    """The conflicts of the other factories of operations that surely get this one as it is."""
    births = {one.end for one in analysis.ends(conflict.birth) if _is_beside(conflict, one)}
    return (one for one in analysis.conflicts if one.birth in births)


def _is_beside(conflict: Conflict, one: Conflict) -> bool:
    """Whether a path leads by one operation to what the same function makes on the host as well."""
    if one.end.node.function is not conflict.birth.node.function:
        return False
    known = conflict.birth.birth in MADE and one.end.birth in MADE and one.end is not conflict.birth
    if not known or one.confidence < SURELY or one.is_supported or one.is_of_index:
        return False
    met = [step for step in one.path if step.edge.turn is Turn.MEET]
    return len(met) <= 2 and not any(
        step.edge.link.startswith("index") or step.edge.turn in {Turn.UP, Turn.DOWN} for step in one.path
    )
