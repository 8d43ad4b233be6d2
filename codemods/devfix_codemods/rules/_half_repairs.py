"""Operations of which one value made on the host would be moved and another left behind: they would fail as before."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from devfix_codemods.findings import Finding
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.program import Program
from devfix_codemods.rules._host_company import adds_to_host


def without_halves(
    program: Program,
    found: Mapping[tuple[ast.Call, ...], tuple[Sequence[Meeting], Finding | None]],
) -> Iterable[Finding]:
    """The findings, without the fixes of values that meet nothing but what stays behind."""
    left = {sources for sources, (_, one) in found.items() if one is None or one.fix is None}
    behind = {meeting.node for sources in left for meeting in found[sources][0]}
    moved = {call for sources in found.keys() - left for call in sources}
    for sources, (meetings, one) in found.items():
        if one is not None:
            half = sources not in left and all(
                meeting.node in behind or adds_to_host(program, meeting.node, moved) for meeting in meetings
            )
            yield replace(one, fix=None) if half else one
