"""An element that a loop hands on to a helper, which moves its siblings: it is moved there, before it is read."""

import ast

from devfix_codemods import scope
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.flow.facts import Meeting, Move
from devfix_codemods.flow.places import may_be_device
from devfix_codemods.flow.values import BatchItem
from devfix_codemods.program import Program
from devfix_codemods.rules._guarded import may_be_written
from devfix_codemods.rules._moves import copied_suffix, roots


def fix_in_helper(program: Program, meeting: Meeting, batch: BatchItem) -> Fix | None:
    """The element moved where the helper gets it, as the helper moves its siblings; None where there is no such one."""
    helper = meeting.context.function
    given = _given(meeting, helper) if helper is not None and meeting.context.sites else None
    name = _parameter(meeting, given) if given is not None else None
    if helper is None or given is None or name is None:
        return None
    siblings = _siblings(meeting, given) - {name}
    moves = [
        one
        for one in program.facts.moves
        if one.context.function is helper and (_is_sibling(one, batch) or _is_of(one, siblings))
    ]
    suffixes = {copied_suffix(program, one.node) for one in moves}
    suffix = suffixes.pop() if len(suffixes) == 1 else None
    first = next((one for one in helper.body if any(scope.loads(one, {name}))), None)
    if suffix is None or first is None or not roots(suffix) <= scope.bound_at(program, first):
        return None
    if not any(may_be_written(program, suffix, one.node, first) for one in moves):
        return None
    if name in program.facts.evidence[helper].numpy or any(scope.changes(helper, name)):
        return None
    edit = InsertStatement(program.source.span(first), "before", f"{name} = {name}{suffix}")
    return Fix(Safety.SAFE, f"Move `{name}`, as its siblings are", (edit,))


def _is_sibling(move: Move, batch: BatchItem) -> bool:
    own = move.value.batch
    return own is not None and own.token == batch.token and own.path != batch.path and may_be_device(move.target)


def _is_of(move: Move, names: set[str]) -> bool:
    return isinstance(move.receiver, ast.Name) and move.receiver.id in names and may_be_device(move.target)


def _given(meeting: Meeting, helper: scope.Function) -> dict[str, ast.expr] | None:
    """What the call that led to the operation gives each parameter that has no default."""
    site, names = meeting.context.sites[-1], scope.parameters(helper)
    if any(isinstance(one, ast.Starred) for one in site.args):
        return None
    names = names[: len(names) - len(helper.args.defaults)]
    if names[:1] == ["self"] and isinstance(site.func, ast.Attribute):
        names = names[1:]
    named = {one.arg: one.value for one in site.keywords if one.arg in names}
    return dict(zip(names, site.args)) | named


def _parameter(meeting: Meeting, given: dict[str, ast.expr]) -> str | None:
    """The parameter as which the helper gets the element under its own name."""
    origin = meeting.misplaced.value.origin
    own = origin.name if origin is not None else None
    found = [name for name, value in given.items() if isinstance(value, ast.Name) and value.id == own]
    return found[0] if len(found) == 1 else None


def _siblings(meeting: Meeting, given: dict[str, ast.expr]) -> set[str]:
    """The parameters as which it gets what the same loop yields."""
    batch = meeting.misplaced.value.batch
    loop = batch.statement if batch is not None else None
    yielded = scope.stored(loop.target) if isinstance(loop, (ast.For, ast.AsyncFor)) else set()
    return {name for name, value in given.items() if isinstance(value, ast.Name) and value.id in yielded}
