"""Tensors on the host that may meet others wherever those are, or only meet others of the host."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.places import may_be_device
from devfix_codemods.program import Program
from devfix_codemods.rules._host_reads import is_plain_number


def is_number(program: Program, meeting: Meeting) -> bool:
    """`torch.randint(2, [])`, `torch.tensor(1 << n)`, of no dimension: in arithmetic it may be on the host."""
    if may_be_device(meeting.anchor.place):
        return False
    arithmetic = not any(one.isalpha() for one in meeting.operation)
    return all(
        _is_empty_shape(one) or (arithmetic and _is_of_number(program, one)) for one in meeting.misplaced.value.sources
    )


def _is_empty_shape(call: ast.Call) -> bool:
    return (dotted(call.func) or "").rpartition(".")[2] in _SHAPED and any(
        isinstance(each, (ast.List, ast.Tuple)) and not each.elts for each in call.args
    )


def _is_of_number(program: Program, call: ast.Call) -> bool:
    function = scope.function_around(program, call)
    return function is not None and is_plain_number(program, function, call)


def picks_of_itself(program: Program, meeting: Meeting) -> bool:
    """`x[x > y]` where `x` and `y` may both be on the host: a moved copy of `x` would pick of what stays there."""
    inner, part = meeting.node, program.names.parent(meeting.node)
    return (
        not may_be_device(meeting.anchor.place)
        and isinstance(part, ast.Subscript)
        and part.slice is inner
        and ast.unparse(part.value) == ast.unparse(meeting.misplaced.node)
    )


_SHAPED = frozenset({"zeros", "ones", "empty", "full", "rand", "randn", "randint"})
