"""Losses that nobody declares: what a function differentiates in the end was computed by one."""

import ast
import re

from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import Evidence, dotted
from devfix_codemods.flow.names import Names
from devfix_codemods.flow.tree import walk

_LOSS = re.compile(r"(?i)loss|crit")
_METHOD = re.compile(r"_*(?:compute|calc\w*|get|make|build|step|forward|run|update|log|train|eval|do)_|.*_step$")
"""Names of methods, which may place what they get: inherited ones are not in sight."""


def is_own_loss(node: ast.Call) -> bool:
    """Whether a call is one of what `self` holds and calls a loss: `self.loss_fn(out, y)`."""
    text = dotted(node.func) or ""
    name = text.removeprefix("self.")
    return name != text and "." not in name and is_called_loss(node) and _METHOD.match(name) is None


def is_called_loss(node: ast.Call) -> bool:
    """Whether the name of what is called says that it is a loss."""
    return _LOSS.search((dotted(node.func) or "").rpartition(".")[2]) is not None


def differentiated_as(names: Names, node: ast.Call, known: Evidence) -> str | None:
    """The name whose `.backward()` goes through the call: `loss` of `loss = (f(x, y) * w).mean()`, in every branch."""
    inner: ast.expr = node
    outer = names.parent(inner)
    while isinstance(outer, ast.expr) and _goes_through(outer, inner):
        inner, outer = outer, names.parent(outer)
    match outer:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name), op=ast.Add()):
            return name if name in known.losses and _is_kept(names, outer, name) else None
    return None


def _goes_through(outer: ast.expr, inner: ast.expr) -> bool:
    """Whether `outer` computes on with the tensor that `inner` gives: arithmetic, `.mean()`, a branch."""
    match outer:
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()) | ast.UnaryOp(op=ast.USub()):
            return True
        case ast.IfExp(test=test):
            return test is not inner
        case ast.Attribute(attr=attr):
            return attr in tables.REDUCTIONS | {"squeeze", "view", "reshape"}
        case ast.Call(func=function):
            return function is inner and isinstance(inner, ast.Attribute)
    return False


def _is_kept(names: Names, statement: ast.stmt, name: str) -> bool:
    """Whether nothing else that the function gives `name` takes the place of what `statement` gives it."""
    around = next((one for one in names.ancestors(statement) if isinstance(one, _FUNCTIONS)), None)
    stores = (one for one in walk(around) if isinstance(one, ast.Name) and one.id == name) if around is not None else ()
    others = {names.statement(one) for one in stores if isinstance(one.ctx, ast.Store)} - {statement}
    return all(_goes_on(one, name) or _is_in_other_branch(names, statement, one) for one in others)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)


def _goes_on(statement: ast.stmt, name: str) -> bool:
    """`loss = 0`, `loss += x`, `loss = loss.mean()`."""
    if isinstance(statement, ast.AugAssign):
        return True
    value = statement.value if isinstance(statement, ast.Assign) else None
    reads = (one.id for one in walk(value) if isinstance(one, ast.Name)) if value is not None else ()
    return isinstance(value, ast.Constant) or name in reads


def _is_in_other_branch(names: Names, statement: ast.stmt, other: ast.stmt) -> bool:
    """Whether `other` stands in a branch that never runs where `statement` does."""
    around = [other, *names.ancestors(other)]
    inner: ast.AST = statement
    for outer in names.ancestors(statement):
        if isinstance(outer, ast.If):
            beside = outer.orelse if any(one is inner for one in outer.body) else outer.body
            if any(one is each for one in beside for each in around):
                return True
        inner = outer
    return False
