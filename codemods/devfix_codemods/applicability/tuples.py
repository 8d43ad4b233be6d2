"""Moves that a fix writes after what gives several values: a tuple has no `.to`."""

import ast

from devfix_codemods.applicability.names import parsed
from devfix_codemods.applicability.points import node_at
from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.edits.operations import NODE, Edit, ReplaceExpression
from devfix_codemods.findings import Fix
from devfix_codemods.ir import Op
from devfix_codemods.program import Program

_MOVES = frozenset({"to", "cuda", "cpu"})
_ONE_TENSOR = frozenset({Effect.FACTORY, Effect.CONVERSION, Effect.SEQUENCE})
"""What gives one tensor, which may be taken apart along its first dimension."""


def several_values(program: Program, fix: Fix) -> list[str]:
    """What the edits of `fix` move as one value, and the program takes apart, or a function of it gives as a tuple."""
    moved = [node for edit in fix.edits if _moves(edit) and (node := node_at(program, edit)) is not None]
    return sorted({ast.unparse(one) for one in moved if _is_taken_apart(program, one) or _gives_tuple(program, one)})


def _moves(edit: Edit) -> bool:
    """Whether an edit writes `.to(…)` after an expression."""
    if not isinstance(edit, ReplaceExpression) or not edit.code.startswith(f"{NODE}."):
        return False
    for tree in parsed(edit):
        match tree.body:
            case [ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)))]:
                return name == NODE and attr in _MOVES
    return False


def _is_taken_apart(program: Program, node: ast.expr | ast.stmt) -> bool:
    """Whether an expression is unpacked into several targets, and is not known to be one tensor."""
    match program.names.parent(node):
        case ast.Assign(targets=targets, value=value) if value is node:
            unpacked = any(map(_is_several, targets))
        case (
            ast.For(target=target, iter=value)
            | ast.AsyncFor(target=target, iter=value)
            | ast.comprehension(target=target, iter=value)
        ) if value is node:
            unpacked = _is_several(target)
        case ast.withitem(optional_vars=ast.expr() as target):
            unpacked = _is_several(target)
        case _:
            return False
    return unpacked and not _is_tensor(program, node)


def _is_several(target: ast.expr) -> bool:
    return isinstance(target, ast.Tuple | ast.List)


def _is_tensor(program: Program, node: ast.AST) -> bool:
    made = canonical(program.names.qualified(node.func) or "") if isinstance(node, ast.Call) else ""
    return effect(made) in _ONE_TENSOR or made == "torch.from_numpy"


def _gives_tuple(program: Program, node: ast.AST) -> bool:
    """Whether an expression calls a function of the project that returns nothing but tuples."""
    call = program.index.nodes.get(node) if isinstance(node, ast.Call) else None
    if call is None or call.op is not Op.CALL:
        return False
    called = program.placement.calls.get(call) or program.index.origins.called(call)
    given = [value for value, _ in called.returns] if called is not None else []
    return bool(given) and all(one.op is Op.SEQUENCE and one.extra == "tuple" for one in given)
