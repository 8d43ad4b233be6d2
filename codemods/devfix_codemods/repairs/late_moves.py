"""Moves of models that come too late for what was made of the model, and whether they may stand before that."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from devfix_codemods.edits.operations import Edit, InsertStatement, RemoveStatement
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import shows
from devfix_codemods.placement.births import Births
from devfix_codemods.placement.copied import Early
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cut import Cut
from devfix_codemods.repairs.points import block_in, rest_of_block
from devfix_codemods.source import Source, Span


def before_copy(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`model.to(device)` before `EMA(model)`, which takes copies of its weights; or that behind it, as the device gets
    its name between."""
    births, copy = analysis.births, conflict.birth.node
    taken = births.copied.get(copy, [])
    if len({(one.call, one.module) for one in taken}) != 1 or taken[0].call is copy:
        return
    early = taken[0]
    found = ((one, move_after(births, early.call, early.module, one)) for one in _around(early.call))
    statement, late = next((one for one in found if one[1] is not None), (None, None))
    if statement is None or late is None:
        return
    if means_the_same(early.call, early.module, late, statement):
        edits = moved_before(source, statement, late.statement)
        yield Cut(edits, "Move the model before copies of its weights are taken", harmless=True)
    elif isinstance(statement, ast.Assign) and _may_wait(births, early, late.statement):
        edits = moved_behind(source, statement, late.statement)
        yield Cut(edits, "Take copies of the weights when the model is moved", harmless=True)


def _around(call: Node) -> Iterator[ast.stmt]:
    """The statement of a call, and the `if`s around it."""
    statement = call.statement
    while statement is not None:
        yield statement
        choices = (one for one in ast.walk(call.function.syntax) if isinstance(one, ast.If))
        statement = next((one for one in choices if block_in(one, statement)), None)


def _may_wait(births: Births, early: Early, moving: ast.stmt) -> bool:
    """Whether the statement that hands a model on can stand behind a later one: nothing between reads what it binds,
    or binds what it reads, or does something with the model that its copies would show."""
    function, statement = early.call.function, early.call.statement
    assert statement is not None
    then, now = function.before[statement], function.after[moving]
    read = {one.id for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    changed = [now[one] for one in read if one in now and now[one] is not then.get(one)]
    if any(early.module not in births.way(one) for one in changed):
        return False
    block = rest_of_block(function, statement)
    between = block[1 : block.index(moving)]
    bound = {ast.unparse(one) for one in ast.walk(statement) if isinstance(getattr(one, "ctx", None), ast.Store)}
    named = {
        ast.unparse(one) for each in between for one in ast.walk(each) if isinstance(one, ast.Name | ast.Attribute)
    }
    inside = {one for each in between for one in ast.walk(each)}
    used = (one for one in function.nodes if one.syntax in inside and early.module in one.args)
    kept = any(one.base is early.module and one.statement in inside for one in function.stores)
    return bound.isdisjoint(named) and not kept and all(one.op is Op.ATTR and one.extra in _ASKED for one in used)


_ASKED = frozenset({"parameters", "named_parameters", "train", "eval"})
"""What may be asked of a model without that its weights change."""


@dataclass(frozen=True, slots=True)
class Late:
    """A `move` of a model, and the `statement` that is it, or moves under a condition, and does nothing else."""

    move: Node
    statement: ast.stmt


def move_after(births: Births, call: Node, model: Node, statement: ast.stmt | None) -> Late | None:
    """`model.to(device)` or `model = model.to(device)` further down in the block of a statement with a call, the first
    one of all."""
    for one in call.function.nodes:
        if one.index > call.index and births.is_move(one) and one.args[0].args[0] is model:
            moving = _standing_in(rest_of_block(call.function, statement), one)
            return Late(one, moving) if moving is not None and births.is_elsewhere(one) else None
    return None


def _standing_in(block: Sequence[ast.stmt], move: Node) -> ast.stmt | None:
    for one in block:
        inner = one.body[0] if isinstance(one, ast.If) and len(one.body) == 1 and not one.orelse else one
        if inner is move.statement and getattr(inner, "value", None) is move.syntax:
            return one
    return None


def means_the_same(call: Node, model: Node, late: Late, statement: ast.stmt) -> bool:
    """Whether the names of a move are bound before a statement with a call, and nothing between needs the model where
    it was."""
    function = call.function
    then, now = function.before[statement], function.before[late.statement]
    words = {one.id for one in ast.walk(late.statement) if isinstance(one, ast.Name)}
    attributes = {one.attr for one in ast.walk(late.statement) if isinstance(one, ast.Attribute)}
    for where, value in now.items():
        read = where in words if isinstance(where, str) else where[1] in attributes
        fresh = value.op in _READ or (value.op is Op.ATTR and value.args[0] is where[0])
        if read and then.get(where) is not value and not fresh:
            return False
    between = (one for one in function.nodes if call.index < one.index < late.move.index)
    return not any(_uses(one, model) for one in between if one.statement is not late.move.statement)


def _uses(node: Node, model: Node) -> bool:
    """Whether a value is made of the model, otherwise than is harmless before the model is moved, and after."""
    if (node.op is Op.ATTR and node.args[0] is model) or shows(node):
        return False
    return any(
        one is model or (one.op is Op.ATTR and one.args[0] is model and one.extra not in _HARMLESS) for one in node.args
    )


_READ = frozenset({Op.GLOBAL, Op.REF})
_HARMLESS = frozenset(
    {"parameters", "named_parameters", "load_state_dict", "state_dict", "train", "eval", "to", "cuda"}
    | {"configure_optimizers"}
)
"""What may be asked of a model between the old place of its move and the new one."""


def moved_behind(source: Source, statement: ast.stmt, moving: ast.stmt) -> tuple[Edit, ...]:
    """A statement behind the one that moves a model."""
    span = source.span(statement)
    return InsertStatement(source.span(moving), "after", _unindented(source, span)), RemoveStatement(span)


def moved_before(source: Source, statement: ast.stmt, moving: ast.stmt) -> tuple[Edit, ...]:
    """A statement that moves a model, before another one."""
    span = source.span(moving)
    return InsertStatement(source.span(statement), "before", _unindented(source, span)), RemoveStatement(span)


def _unindented(source: Source, span: Span) -> str:
    indentation = source.lines[span.line - 1][: span.column]
    return source.segment(span).rstrip("; ").replace("\n" + indentation, "\n")
