"""Encodings made by hand in a helper, `torch.tensor(tokenizer.encode(text))`, that its callers give to a model."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.values import Birth
from devfix_codemods.program import Program
from devfix_codemods.rules._moves import insertable

_CODES = (b".encode(", b".convert_tokens_to_ids(", b".encode_as_ids(", b".EncodeAsIds(")
_CODE = b"(?:" + b"|".join(map(re.escape, _CODES)) + b")"
_BY_HAND = re.compile(
    rb"ensor\(\[?[\w.]*" + _CODE + rb"|(\w+) = [^\n]*" + _CODE + rb"[^\n]*\n(?:[^\n]*\n)?[^\n]*ensor\(\[?\1\b"
)
_ENCODES = re.compile(r"\.(?:encode|convert_tokens_to_ids|encode_as_ids|EncodeAsIds)\(")


@dataclass(frozen=True, slots=True)
class HandMade:
    """`made` calls the helper in which `origin` makes the tensor; in `meeting` that meets a model on `device`."""

    made: ast.Call
    origin: ast.Call
    meeting: Meeting
    device: str

    def edit(self, program: Program) -> ReplaceExpression:
        return ReplaceExpression(program.source.span(self.made), f"__node__.to({self.device})")


def encodes_by_hand(data: bytes) -> bool:
    """Whether a tensor is made of something that was encoded just before."""
    if b"ensor(" not in data or not any(word in data for word in _CODES):
        return False
    return _BY_HAND.search(data) is not None


def hand_made(program: Program) -> Iterator[HandMade]:
    """Each call of a helper once, by the first operation that needs its result elsewhere."""
    seen: set[ast.Call] = set()
    for meeting in program.facts.meetings:
        origin = meeting.misplaced.value.origin
        if origin is None or origin.birth is not Birth.FACTORY or not isinstance(origin.node, ast.Call):
            continue
        helper = scope.function_around(program, origin.node)
        into_model = meeting.anchor.role == "module" and insertable(meeting.context)
        if helper is None or not into_model or not _ENCODES.search(ast.unparse(helper)):
            continue
        for made in _calls(program, helper, meeting):
            device = _device_at(program, program.names.statement(made), meeting)
            if made not in seen and device is not None:
                seen.add(made)
                yield HandMade(made, origin.node, meeting, device)


def _device_at(program: Program, statement: ast.stmt, meeting: Meeting) -> str | None:
    """A name for the model's device that is bound at `statement`: that of its move, or one that denotes the same."""
    around, bound = scope.function_around(program, statement), scope.bound_at(program, statement)
    move = meeting.moved.node if meeting.moved is not None else None
    if isinstance(move, ast.Call) and len(move.args) == 1 and scope.function_around(program, move) is around:
        given = dotted(move.args[0])
        if given is not None and given.partition(".")[0] in bound:
            return given
    known = [
        name.text
        for other, names in program.facts.devices_at.items()
        if scope.function_around(program, other) is around
        for name in names
        if name.place == meeting.anchor.place and name.text.partition(".")[0] in bound
    ]
    return min(known, key=len, default=None)


def _calls(program: Program, helper: scope.Function, meeting: Meeting) -> Iterator[ast.Call]:
    """The calls of the helper whose result goes into the operation, or into a call on the way to it."""
    for start in (*meeting.context.sites, meeting.node):
        around = scope.function_around(program, start) or program.tree
        for node in ast.walk(around) if around is not helper else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != helper.name:
                continue
            parent = program.names.parent(node)
            given = parent is start or (isinstance(parent, ast.keyword) and program.names.parent(parent) is start)
            named = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name)
            if given or (named and isinstance(parent, ast.Assign) and scope.stored(parent) & set(scope.reads(start))):
                yield node
