"""Two that say the same: ends of one birth, at moves of their own, by ways that have nothing in common."""

from dataclasses import replace
from math import prod

from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.strengths import STRENGTHS

SUREST = 0.85
"""What two witnesses may prove at most: neither saw it."""


def with_independent_paths(found: list[Conflict]) -> Conflict:
    """The strongest of the conflicts of one birth, as strong as it is together with a second witness."""
    best = found[0]
    second = next((one for one in found[1:] if _is_another(one, best)), None)
    if second is None or best.confidence >= SUREST:
        return best
    born = prod(STRENGTHS[link] for link in best.birth.links)
    neither = (1 - best.confidence / born) * (1 - second.confidence / born)
    return replace(best, confidence=min(born * (1 - neither), SUREST))


def _is_another(one: Conflict, best: Conflict) -> bool:
    """Whether two conflicts end at different moves to a device, by ways that share no value."""
    if one.end.place.where is not Where.DEVICE or best.end.place.where is not Where.DEVICE:
        return False
    return {step.node for step in one.path}.isdisjoint(step.node for step in best.path)
