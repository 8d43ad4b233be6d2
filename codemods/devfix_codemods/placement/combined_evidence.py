"""Evidence that accumulates: two paths that share nothing make a conflict surer than either of them."""

from dataclasses import replace
from math import prod

from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.strengths import STRENGTHS

WEAK = 0.9
"""What is weaker is counted once, whatever the number of paths that it is on."""
SUREST = 0.85
"""What two say together, neither of which saw it, is never as sure as what strong links say."""

LEAST = 0.35
"""How strong what confirms a hint has to be."""


def combined(found: list[Conflict]) -> Conflict:
    """The first conflict of a value, which is the strongest, with the weight of the next that has no weak link in
    common with it: both would have to be wrong. Where all callers are on the host, all that they give is."""
    strongest = found[0]
    if strongest.is_of_index:
        return strongest  # what is indexed may stay: others say where it belongs, not that it has to be there
    own = _weak(strongest)
    other = next((one for one in found[1:] if own.isdisjoint(_weak(one)) and _is_another(one, strongest)), None)
    if other is None or not own or Where.DEVICE not in {one.end.place.where for one in (strongest, other)}:
        return strongest
    both = 1 - (1 - strongest.confidence) * (1 - other.confidence)
    return replace(strongest, confidence=max(strongest.confidence, min(both, SUREST)))


def _is_another(one: Conflict, strongest: Conflict) -> bool:
    """Whether two paths have ends of their own, or one of them is a hint without further steps; beside a hint, what
    would not be told by itself says nothing."""
    alone = one.confidence >= LEAST or not strongest.is_supported
    return alone and (one.end is not strongest.end or 1 in {len(one.path), len(strongest.path)})


def with_independent_paths(found: list[Conflict]) -> Conflict:
    """The same of one birth, of which the doubt counts once: the two end at different moves, by ways of their own."""
    best = found[0]
    second = next((one for one in found[1:] if _is_witness(one, best)), None)
    if second is None or best.confidence >= SUREST:
        return best
    born = prod(STRENGTHS[link] for link in best.birth.links)
    neither = (1 - best.confidence / born) * (1 - second.confidence / born)
    return replace(best, confidence=min(born * (1 - neither), SUREST))


def _is_witness(one: Conflict, best: Conflict) -> bool:
    """Whether two conflicts end at different moves to a device, by ways that share no value."""
    if one.end.place.where is not Where.DEVICE or best.end.place.where is not Where.DEVICE:
        return False
    return {step.node for step in one.path}.isdisjoint(step.node for step in best.path)


def _weak(conflict: Conflict) -> frozenset[str]:
    return frozenset(link for link in conflict.links if STRENGTHS[link] < WEAK)
