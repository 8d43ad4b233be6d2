"""Results that the code itself moves as soon as they are there: `(torch.rand(n) < p).type_as(x)`."""

import ast
from operator import attrgetter

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.places import may_be_device
from devfix_codemods.flow.values import Kind
from devfix_codemods.program import Program
from devfix_codemods.rules._moving_helpers import MOVES, moves
from devfix_codemods.rules._taken_to_host import moves_to_host, sets_dtype


def is_moved_behind(program: Program, meeting: Meeting) -> bool:
    """Whether the result alone goes on to a device, and what the tensor meets may be a number: then nothing fails."""
    other = dotted(scope.indexed(meeting.anchor.node)) or "self"
    if may_be_device(meeting.anchor.place) or meeting.anchor.value.kind is not Kind.UNKNOWN:
        return False
    if not isinstance(meeting.node, (ast.BinOp, ast.Compare)) or other.partition(".")[0] in {"self", "cls"}:
        return False
    return _is_moved(program, meeting.node) or _has_moved_name(program, meeting.node)


def _is_moved(program: Program, node: ast.expr) -> bool:
    """Whether a move takes what `node` gives, maybe behind others: `(1 - (x < p).float())[:, None].to(device)`."""
    for outer in program.names.ancestors(node):
        if isinstance(outer, ast.Attribute) and outer.attr in MOVES and moves(program, outer):
            call = program.names.parent(outer)
            return isinstance(call, ast.Call) and not moves_to_host(call) and not sets_dtype(call)
        if isinstance(outer, ast.Subscript) and outer.value is not node:
            return False
        if isinstance(outer, ast.Call) and outer.func is not node:
            return False
        with_number = isinstance(outer, ast.BinOp) and isinstance(_other(outer, node), ast.Constant)
        chained = isinstance(outer, (ast.Attribute, ast.Subscript, ast.Call, ast.UnaryOp))
        if not isinstance(outer, ast.expr) or not (with_number or chained):
            return False
        node = outer
    return False


def _other(node: ast.BinOp, one: ast.expr) -> ast.expr:
    return node.right if node.left is one else node.left


def _has_moved_name(program: Program, node: ast.expr) -> bool:
    """Whether the result gets a name of its own, and that is moved wherever it is read."""
    statement, function = program.names.statement(node), scope.function_around(program, node)
    if not isinstance(statement, ast.Assign) or statement.value is not node or function is None:
        return False
    match statement.targets:
        case [ast.Name(id=name)]:
            after = (one for one in scope.loads(function, {name}) if one.lineno > statement.lineno)
            uses = sorted(after, key=attrgetter("lineno", "col_offset"))
            again = bool(uses) and name in scope.stored(program.names.statement(uses[0]))
            return bool(uses) and all(_is_moved(program, one) for one in (uses[:1] if again else uses))
    return False
