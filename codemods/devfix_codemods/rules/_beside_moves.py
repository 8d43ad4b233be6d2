"""Tensors made before those that they go with: moved beside the others that follow those."""

import ast
from collections.abc import Sequence

from devfix_codemods import scope
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.places import UNKNOWN, Place
from devfix_codemods.flow.tables import TENSOR_SHAPE_METHODS
from devfix_codemods.program import Program
from devfix_codemods.rules._following import Following

_SHAPES = TENSOR_SHAPE_METHODS | {"shape", "ndim", "dtype"}


def beside_moves(program: Program, meetings: Sequence[Meeting]) -> Following | None:
    """`x = x.to(y.device)` below `z = z.to(y.device)`, where that repairs each operation that `x` takes part in."""
    nodes = [one.misplaced.node for one in meetings]
    names = {one.id if isinstance(one, ast.Name) else None for one in nodes}
    places = {one.anchor.place for one in meetings}
    function = scope.function_around(program, nodes[0])
    if len(names) != 1 or len(places) != 1 or function is None:
        return None
    (name,), (place,) = names, places
    move = _last_move(program, function, name, place) if name is not None else None
    if move is None or name is None or not _is_enough(program, function, name, move, nodes):
        return None
    assert isinstance(move.value, ast.Call)
    device = program.source.segment(program.source.span(move.value.args[0]))
    edit = InsertStatement(program.source.span(move), "after", f"{name} = {name}.to({device})")
    return Following(device, (edit,))


def _last_move(program: Program, function: scope.Function, name: str, place: Place) -> ast.Assign | None:
    """The last statement that moves another name to the place, where `name` is bound already."""
    moves = {one.node for one in program.facts.moves if one.target == place != UNKNOWN}
    found = (one for one in ast.walk(function) if isinstance(one, ast.Assign) and one.value in moves)
    bound = [one for one in found if _moves_other(one, name) and name in scope.bound_at(program, one)]
    return max(bound, key=lambda one: one.lineno, default=None)


def _moves_other(statement: ast.Assign, name: str) -> bool:
    """`z = z.to(y.device)`."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=moved), attr="to"), args=[_], keywords=[]),
        ):
            return target == moved != name
    return False


def _is_enough(
    program: Program, function: scope.Function, name: str, move: ast.Assign, nodes: Sequence[ast.expr]
) -> bool:
    """Whether all that is done with `name` below the move are the operations to repair, all in its own block."""
    line, block = move.lineno, scope.block_of(program, move)
    if any(one.lineno > line for one in scope.changes(function, name)):
        return False
    reads = [one for one in scope.loads(function, {name}) if one.lineno > line]
    plain = (program.names.parent(one) for one in reads if one not in nodes)
    if not all(isinstance(one, ast.Attribute) and one.attr in _SHAPES for one in plain):
        return False
    last = block[-1].end_lineno or block[-1].lineno
    return all(line < one.lineno <= last for one in nodes)
