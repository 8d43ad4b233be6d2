"""Attributes that begin empty, and to which a class that knows a device joins what its methods are given."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.program import Program
from devfix_codemods.rules._attributes import own_attribute, targets
from devfix_codemods.rules._sure_whereabouts import SureWhereabouts
from devfix_codemods.rules._taken_to_host import moves_to_host
from devfix_codemods.rules._whereabouts import Made


def grows(program: Program, meeting: Meeting) -> bool:
    """`self.losses = torch.cat([self.losses, loss])`, where `self.losses` was `torch.tensor([])` first."""
    owner, sources = meeting.context.owner, meeting.misplaced.value.sources
    name, function = own_attribute(meeting.misplaced.node), meeting.context.function
    constructor = scope.constructor(owner) if owner is not None else None
    if name is None or function is None or constructor is None or "device" not in scope.parameters(constructor):
        return False
    joins = isinstance(meeting.node, ast.Call) and _joins(program, meeting.node)
    kept = [own_attribute(one) for one in targets(program.names.statement(meeting.node))]
    if not joins or kept != [name] or not sources or not all(_is_empty(program, one) for one in sources):
        return False
    brought = any(isinstance(one, ast.Call) and moves_to_host(one) for one in ast.walk(function))
    return not brought and SureWhereabouts(program).source(meeting.anchor.node) is not Made.HOST


def _joins(program: Program, call: ast.Call) -> bool:
    return tables.canonical(program.names.qualified(call.func) or "") in tables.SEQUENCE_FUNCTIONS


def _is_empty(program: Program, call: ast.Call) -> bool:
    """`torch.tensor([])`, `torch.empty(0)`, `torch.zeros((0, 3))`."""
    size = call.args[0] if call.args else None
    if isinstance(size, (ast.List, ast.Tuple)) and size.elts:
        size = size.elts[0]
    match size:
        case ast.List(elts=[]):
            return True
        case ast.Constant(value=0):
            return (program.names.qualified(call.func) or "").rpartition(".")[2] in {"empty", "zeros", "ones"}
    return False
