"""Tensors that are copied to a device for one use, and meet what came of it as they were."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting, Move
from devfix_codemods.program import Program
from devfix_codemods.rules._guarded import suffix_at
from devfix_codemods.rules._moves import copied_suffix, insertable, roots, text_of
from devfix_codemods.rules._one_branch import Forgotten

_LENT = re.compile(rb"[(,=]\s*\w+\.(?:to|cuda)\(")


def lends(data: bytes) -> bool:
    """Whether something is moved where it is given away."""
    return _LENT.search(data) is not None


def lent_tensors(program: Program) -> Iterator[Forgotten]:
    """`y = net(x.to(device))`, and `y - x` below it, where `x` is on the host."""
    if not any(_is_used_below(program, call) for call in program.names.calls):
        return
    seen: set[ast.Name] = set()
    for meeting in program.facts.meetings:
        value = meeting.misplaced.value
        if value.batch is not None or value.sources or meeting.misplaced.role == "module":
            continue
        copies = {one.id: _copy(program, meeting, one) for one in _names(meeting.misplaced.node)}
        if insertable(meeting.context) and None not in copies.values():
            for name in _around(program, meeting, set(copies)):
                move = copies[name.id]
                if move is not None and name not in seen:
                    seen.add(name)
                    yield from _of_use(program, name, move.node)


def _is_used_below(program: Program, call: ast.Call) -> bool:
    """Whether a call may copy to a device what a name holds, and the name is read again after it.

    The analysis of a file costs more than all else: most files move nothing in such a way.
    """
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr="to" | "cuda"):
            function, kept = scope.function_around(program, call), program.names.parent(call)
            if function is None or (isinstance(kept, ast.Assign) and [dotted(one) for one in kept.targets] == [name]):
                return False
            return copied_suffix(program, call) is not None and any(
                one.lineno >= call.lineno
                and one is not call.func.value
                and not isinstance(program.names.parent(one), ast.Attribute)
                for one in scope.loads(function, {name})
            )
    return False


def _of_use(program: Program, name: ast.Name, move: ast.Call) -> Iterator[Forgotten]:
    """One use, with the move of the copy repeated there."""
    statement = program.names.statement(name)
    suffix = suffix_at(program, copied_suffix(program, move), move, statement)
    if suffix is None or not roots(suffix) <= scope.bound_at(program, statement):
        return
    given = scope.given_to(move)
    device = text_of(program, given[0]) if given and not suffix.startswith(".cuda") else "cuda"
    edit = ReplaceExpression(program.source.span(name), f"__node__{suffix}")
    yield Forgotten(name.id, device, name, move, (edit,), ("for another use", "here"))


def _names(node: ast.expr) -> list[ast.Name]:
    """The tensors of an expression that computes with names and numbers; none where there is more to it."""
    if isinstance(node, ast.Name):
        return [node]
    if not isinstance(node, ast.BinOp):
        return []
    parts = [one for one in (node.left, node.right) if not isinstance(one, ast.Constant)]
    found = [_names(one) for one in parts]
    return [name for names in found for name in names] if all(found) else []


def _copy(program: Program, meeting: Meeting, name: ast.Name) -> Move | None:
    """The move above the operation by which a copy of `name` went to where the operation is."""
    found = [
        one
        for one in program.facts.moves
        if isinstance(one.receiver, ast.Name)
        and one.receiver.id == name.id
        and one.target == meeting.anchor.place
        and one.result_used
        and one.context.function is meeting.context.function
        and one.node.lineno <= name.lineno
    ]
    return found[-1] if found else None


def _around(program: Program, meeting: Meeting, names: set[str]) -> list[ast.Name]:
    """The uses of the names in the arithmetic around the operation."""
    whole: ast.AST = meeting.node
    while isinstance(outer := program.names.parent(whole), ast.BinOp):
        whole = outer
    found = _terms(whole) if isinstance(whole, ast.BinOp) else _names(meeting.misplaced.node)
    return [one for one in found if one.id in names]


def _terms(node: ast.expr) -> list[ast.Name]:
    """The names that arithmetic computes with."""
    if isinstance(node, ast.BinOp):
        return [*_terms(node.left), *_terms(node.right)]
    return [node] if isinstance(node, ast.Name) else []
