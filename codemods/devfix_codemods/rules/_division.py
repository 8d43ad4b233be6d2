"""Which rule speaks of a host value that meets what lives elsewhere: exactly one does."""

import ast
import re

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.values import Kind, Value
from devfix_codemods.program import Program
from devfix_codemods.rules import _attributes

BATCH, FACTORY, INDEXED, WEIGHT, STATE = "DVF101", "DVF104", "DVF105", "DVF106", "DVF107"
ATTRIBUTE = "DVF203"


def code_for(program: Program, meeting: Meeting) -> str:
    """The code of the rule for the misplaced tensor: by how it is kept, else by what it is used for."""
    if meeting.misplaced.value.batch is not None:
        return BATCH
    if meeting.misplaced.role == "module" and is_weight(meeting):
        return WEIGHT  # wherever the loss is kept
    kept = _attributes.kept_in(program, meeting)
    indexed = meeting.misplaced.role == "indexed"
    if kept is not None and (not indexed or program.classes.is_module(kept.owner)):
        return ATTRIBUTE
    if indexed:
        return INDEXED
    if is_weight(meeting):
        return WEIGHT
    return STATE if is_state(program, meeting) else FACTORY


def is_weight(meeting: Meeting) -> bool:
    """Whether the misplaced value weights a loss: `weight=` of a functional one, or a loss module that holds one."""
    if meeting.misplaced.role == "module":
        return (meeting.misplaced.value.qualified or "").endswith("Loss")
    call = meeting.node
    return isinstance(call, ast.Call) and any(
        one.arg in {"weight", "pos_weight"} and one.value is meeting.misplaced.node for one in call.keywords
    )


def is_state(program: Program, meeting: Meeting) -> bool:
    """Whether it is the state that a recurrent module gets, or one that the module it is given to has made itself."""
    if meeting.misplaced.role == "module" or meeting.misplaced.value.kind is Kind.MODULE:
        return False
    if meeting.misplaced.role == "state":
        return True
    callee = next((one for one in meeting.operands if one.role == "module"), None)
    if callee is None:
        return False
    if not _is_further_argument(meeting):
        return False
    return callee.value.qualified in tables.RECURRENT_MODULES or _is_made_by(program, callee.value, meeting)


def _is_made_by(program: Program, callee: Value, meeting: Meeting) -> bool:
    """Whether a method of the module that gets the value made it as its first state: `model.init_hidden(…)`."""
    made = _attributes.births(meeting)
    methods = [scope.function_around(program, one) for one in made]
    if callee.definition is None or any(scope.class_around(program, one) is not callee.definition for one in made):
        return False
    here = scope.function_around(program, meeting.node)
    return bool(made) and all(one is not None and one is not here and _STATE.search(one.name) for one in methods)


_STATE = re.compile("hidden|state|init|memory|cache|carry|begin|start|h0|c0")


def _is_further_argument(meeting: Meeting) -> bool:
    call = meeting.node
    return isinstance(call, ast.Call) and meeting.misplaced.node in [
        *call.args[1:],
        *(one.value for one in call.keywords),
    ]
