"""Factories on the host whose tensor takes the name of one that was there before: `x = torch.tensor(0.0)`."""

import ast

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.rules._host_on_purpose import is_scalar
from devfix_codemods.rules._host_reads import is_read_later
from devfix_codemods.rules._mixed_parameters import may_have_no_device
from devfix_codemods.rules._optional import may_be_none


def taken_place(program: Program, function: scope.Function, call: ast.Call) -> tuple[str, str] | None:
    """The tensor whose name the new one takes: `x = torch.tensor(0.0)` where `x` is a tensor."""
    statement = program.names.statement(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
    if not isinstance(target, ast.Name) or target.id in set(scope.reads(call)):
        return None
    if is_read_later(program, function, call):
        return None
    if is_scalar(call) and _is_only_counted_with(program, function, call, target.id):
        return None
    asked = (one for one in ast.walk(function) if isinstance(one, (ast.Compare, ast.UnaryOp, ast.BoolOp, ast.If)))
    if any(_asks_for(one, target.id) for one in asked):
        return None
    if may_have_no_device(program, target.id, call) or may_be_none(program, target.id, call):
        return None
    hands = program.facts.births.get(call, {}).values()
    if all(target.id != name for hand in hands for name, _ in hand.tensors):
        return None
    return f"{target.id}.device", f"takes the place of a tensor, `{target.id}`"


def _is_only_counted_with(program: Program, function: scope.Function, call: ast.Call, name: str) -> bool:
    """Whether a name stands in arithmetic and comparisons alone from then on: a 0-dim tensor is legal there."""
    arithmetic = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Assign)
    statement = program.names.statement(call)
    again = any(isinstance(one, (ast.For, ast.While)) for one in program.names.ancestors(statement))
    reads = [one for one in scope.loads(function, {name}) if again or one.lineno > statement.lineno]
    return bool(reads) and all(isinstance(program.names.parent(one), arithmetic) for one in reads)


def _asks_for(node: ast.AST, name: str) -> bool:
    """Whether a test says that `name` may be None: `x is None`, `not x`, `not exists(x)`, `if x`, `x or y`."""
    match node:
        case ast.Compare(left=ast.Name(id=left), ops=[ast.Is() | ast.IsNot()]):
            return left == name
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=operand) | ast.Call(args=[ast.Name(id=operand)])):
            return operand == name
        case ast.If(test=ast.Name(id=test) | ast.Call(args=[ast.Name(id=test)])):
            return test == name
        case ast.BoolOp(values=values):
            return any(isinstance(one, ast.Name) and one.id == name for one in values)
    return False
