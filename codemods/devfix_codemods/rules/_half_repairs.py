"""Operations of which one value made on the host would be moved and another left behind: they would fail as before."""

import ast
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from devfix_codemods.findings import Finding
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.places import HOST
from devfix_codemods.flow.values import Birth, Kind, Value
from devfix_codemods.program import Program
from devfix_codemods.rules._host_company import adds_to_host
from devfix_codemods.rules._kept_tables import meets_kept


def without_halves(
    program: Program,
    found: Mapping[tuple[ast.Call, ...], tuple[Sequence[Meeting], Finding | None]],
    vain: Set[ast.Call],
) -> Iterable[Finding]:
    """The findings, without the fixes of values that meet nothing but what stays behind, and of those of `vain`."""
    left = {sources for sources, (_, one) in found.items() if one is None or one.fix is None}
    left |= {sources for sources in found if not vain.isdisjoint(sources)}
    moved = {call for sources in found.keys() - left for call in sources}
    met = (*program.facts.meetings, *program.facts.followings)
    stay = [meeting for sources in left for meeting in found[sources][0]] + [
        one for one in met if _leaves_one(one, moved)
    ]
    behind = {program.names.statement(one.node) for one in stay}
    for sources, (meetings, one) in found.items():
        if one is not None:
            half = sources in left or all(
                program.names.statement(meeting.node) in behind
                or adds_to_host(program, meeting.node, moved)
                or meets_kept(program, meeting.node)
                for meeting in meetings
            )
            yield replace(one, fix=None) if half else one


def _leaves_one(meeting: Meeting, moved: set[ast.Call]) -> bool:
    """Whether a meeting takes what no rule repairs: a tensor of the host that another file made, or a list of some."""
    return _is_made_elsewhere(meeting.misplaced.value) or any(
        _holds_host(one.value, moved) for one in meeting.operands if one.role == "argument"
    )


def _is_made_elsewhere(value: Value) -> bool:
    """Whether a tensor on the host is computed of more than the factories of this file, and of no batch."""
    made = value.origin is not None and value.origin.birth in {Birth.CALL, Birth.OPERATION}
    return made and is_tensor_of_host(value) and not value.sources


def is_tensor_of_host(value: Value) -> bool:
    """Whether a value is on the host, has dimensions, and came from no loader."""
    return value.kind is Kind.TENSOR and value.place == HOST and value.batch is None and not value.scalar


def _holds_host(value: Value, moved: set[ast.Call], depth: int = 3) -> bool:
    """Whether a list or a mapping holds a tensor that stays on the host, maybe in further ones."""
    if value.kind not in {Kind.SEQUENCE, Kind.MAPPING} or value.batch is not None or depth == 0:
        return False
    held = [one for _, one in value.items or ()] + ([value.element] if value.element is not None else [])
    return any(
        (is_tensor_of_host(one) and not moved.issuperset(one.sources)) or _holds_host(one, moved, depth - 1)
        for one in held
    )
