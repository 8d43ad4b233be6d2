"""A move around an expression: where the value is made, where a function gives it, where it meets another one."""

import ast
from collections.abc import Iterator
from itertools import takewhile

from devfix_codemods.catalogue import Kind
from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import made_of
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import may_be_none
from devfix_codemods.placement.graph import OF_BATCHES, Birth, Turn
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict, Step
from devfix_codemods.repairs.cut import (
    UNSAFE,
    Cut,
    behind_making,
    name_at,
    operand_syntax,
    operands,
    spelled_in,
    with_keyword,
)
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.points import before
from devfix_codemods.repairs.readings import reading
from devfix_codemods.source import Source


def wrapped(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """The move at the end of the expression that makes the value, or reads it for the operation."""
    node = conflict.birth.node
    if not isinstance(node.syntax, ast.expr):
        return
    read = reading(node, conflict.path)
    for suffix in suffixes(analysis, conflict, read.point) if read is not None else ():
        if read is None:
            continue
        if suffix.test is not None:
            yield from behind_making(source, conflict, suffix, read)
            continue
        edit = ReplaceExpression(source.span(read.syntax), f"__node__{suffix.text}")
        yield Cut((edit, *suffix.edits), f"Move it: `{suffix.text}`", harmless=suffix.follows)
    yield from at_call(analysis, source, conflict)
    yield from at_meeting(analysis, source, conflict)


def at_call(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """What a function gives, where it is called: nearer to the meeting, a device has a name."""
    call = _left_by(conflict)
    if call is None or conflict.confidence < UNSAFE:
        return
    alike = _calls_beside(analysis, conflict, call)
    if len(alike) > MOST_CALLS:
        return
    for moves in zip(*(_moves_at(analysis, source, each, one) for one, each in alike.items()), strict=False):
        edits = dict.fromkeys(edit for _, each in moves for edit in each)
        yield Cut((*edits,), f"Move it: `{moves[0][0]}`", at_call=True)


_Written = tuple[str, tuple[Edit, ...]]
"""A move as it is written, and its edits."""

MOST_CALLS = 8
"""At so many calls of one function what it gives is moved."""


def _left_by(conflict: Conflict) -> Node | None:
    """The call that gives the value of a conflict."""
    whole = takewhile(lambda one: one.edge.link != "element", conflict.path)  # a list that holds it has no `.to`
    left = (one for one in whole if one.edge.site < 0 and one.edge.turn is Turn.UP)
    return next((one.node for one in left if one.node.op is Op.CALL), None)


def _calls_beside(analysis: Analysis, conflict: Conflict, call: Node) -> dict[Node, Conflict]:
    """A call, and the others that give the same and from which it is known to meet what is on a device, or that stand
    around this one: all are moved, or none. Each comes with the conflict that it is part of."""
    called = analysis.calls.get(call)
    others = analysis.kinds.calls_of(called) if called is not None else []
    beside = dict.fromkeys((call, *(one for one in others if one.function is call.function)), conflict)
    for one in analysis.ends(conflict.birth):
        way = _left_by(one)
        if way is not None and way in others and one.end.place.where is not Where.HOST:
            beside.setdefault(way, one)
    return beside


def _moves_at(analysis: Analysis, source: Source, conflict: Conflict, call: Node) -> Iterator[_Written]:
    """The ways to move what a call gives, as they are written there, with their edits."""
    point = before(call)
    if point is None or not isinstance(call.syntax, ast.Call):
        return
    span = source.span(call.syntax)
    for one in suffixes(analysis, conflict, point):
        if one.test is None:
            yield one.text, (ReplaceExpression(span, f"__node__{one.text}"), *one.edits)


def _is_made_of(node: Node, conflict: Conflict) -> bool:
    """`data.y`, which is where `data.x` is, and what is computed of one value twice, `x[None] - x[:, None]`: on the
    host, if that is."""
    return conflict.birth.node in made_of(node, through_choices=False)


def at_meeting(analysis: Analysis, source: Source, conflict: Conflict, *, itself: bool = False) -> Iterator[Cut]:
    """Where nothing at the birth names a device: the operand follows another one of the operation.

    The value `itself` is moved where one operation alone gets it.
    """
    meeting = conflict.meeting
    if meeting is None or meeting.node.function is not conflict.birth.node.function:
        return
    loaded = conflict.birth.birth in OF_BATCHES
    alone = itself and meeting.edge.link in {"operation", *_PICKING} and _count_uses(conflict.birth.node) == 1
    (operand, operation), kinds = _operands_of(conflict, meeting), analysis.kinds
    if operand is conflict.birth.node and not loaded and not alone:
        return
    others = [one for one in operands(operation) if one is not operand and kinds.of(one) is Kind.TENSOR]
    others = [one for one in others if not kinds.says_surely(one, Kind.NUMBER) and not _is_made_of(one, conflict)]
    left = _misplaced_at(analysis, meeting.node)
    others = [one for one in others if one not in left]
    syntax = operand_syntax(operand, operation)
    holds = operand.op in _HOLDING or any(kinds.says(operand, one) for one in (Kind.SEQUENCE, Kind.MAPPING))
    if syntax is None or (operand is not conflict.birth.node and holds):
        return  # `(h, c)` has no `.to`
    shown = [edge.other for one in others for edge in analysis.graph.edges[one] if edge.turn is Turn.SAME]
    for other in (*others, *(one for one in shown if one not in kinds.rows)):
        text = name_at(other, operation)
        if text is None and (spelled := spelled_in(other, operation)) is not None:
            text = analysis.text(spelled)
        if text is None or other is operand:
            continue
        if (
            isinstance(syntax, ast.Call)
            and syntax is conflict.birth.node.syntax
            and conflict.birth.birth is Birth.FACTORY
        ):
            edit: Edit = with_keyword(source, syntax, f"{text}.device", "device")
            yield Cut((edit,), f"Make it on `{text}.device`", harmless=True)
        else:
            is_missing = operation.op is Op.CALL and may_be_none(operand, operation.guard)
            optional = f" if {ast.unparse(syntax)} is not None else None" if is_missing else ""
            edit = ReplaceExpression(source.span(syntax), f"__node__.to({text}.device){optional}")
            yield Cut((edit,), f"Move it to `{text}.device` where they meet", harmless=True)


def _misplaced_at(analysis: Analysis, operation: Node) -> set[Node]:
    """The operands of an operation that are on the host themselves: to follow one of them changes nothing."""
    meetings = (one.meeting for one in analysis.conflicts)
    here = (one.before for one in meetings if one is not None and one.node is operation)
    births = {one.birth.node for one in analysis.conflicts}
    return {one.node for one in here if one is not None} | births.intersection(operands(operation))


def _operands_of(conflict: Conflict, meeting: Step) -> tuple[Node, Node]:
    """What of a value meets another one, and the operation: what picks from it, where the other is its index."""
    operand = meeting.before.node if meeting.before is not None else conflict.birth.node
    if meeting.edge.link in _PICKING and operand.op is Op.ITEM and meeting.node in operand.args[1:]:
        return operand.args[0], operand
    return operand, meeting.node


def _count_uses(node: Node) -> int:
    """How many operations get a value: moved for one, it would stay where it is for the others."""
    return sum(node in one.args and one.op in _USING for one in node.function.nodes)


_PICKING = frozenset({"index", "index-of-input"})
_HOLDING = frozenset({Op.SEQUENCE, Op.MAPPING, Op.COMPREHENSION})
_USING = frozenset({Op.OPERATION, Op.CALL, Op.COMPARE, Op.SEQUENCE, Op.ITEM})
