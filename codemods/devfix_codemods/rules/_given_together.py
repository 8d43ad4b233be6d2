"""Tensors that one call gives to a function of the file, which lets them meet: one made on the host, one elsewhere."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.program import Program
from devfix_codemods.rules._following import at_births
from devfix_codemods.rules._host_on_purpose import runs_on_the_host


def is_given_with(program: Program, meeting: Meeting) -> bool:
    """Whether the maker of a tensor gives it to a function together with the tensor that it can be made to follow.

    The function was read with both, and places neither before they meet.
    """
    sources = meeting.misplaced.value.sources
    makers = {scope.function_around(program, one) for one in sources}
    sites = [one for one in meeting.context.sites if scope.function_around(program, one) in makers]
    if len(makers) != 1 or len(sites) != 1 or not meeting.certain:
        return False
    (maker,) = makers
    if maker is None or any(runs_on_the_host(program, maker, one) for one in sources):
        return False
    if any(tables.sounds_like_length(one) for one in _names(program, maker, sources)):
        return False  # what is packed takes its lengths from the host
    found = at_births(program, meeting)
    given = {dotted(one) for one in scope.given_to(sites[0])}
    return found is not None and found.device.removesuffix(".device") in given


def _names(program: Program, maker: scope.Function, sources: tuple[ast.Call, ...]) -> set[str]:
    """What the tensors are called where they are made."""
    return {name for one in sources for name in scope.stored(program.names.statement(one))}
