"""What an operation writes into: a copy of that on a device would get what is written, and nobody would see it."""

import ast

from devfix_codemods import scope
from devfix_codemods.diagnosis.project import Project, expressions_in
from devfix_codemods.diagnosis.records import Diagnosis, Operand
from devfix_codemods.program import Program


def is_written(project: Project, diagnosis: Diagnosis, operand: Operand) -> bool:
    """Whether the operation that failed changes `operand` in place."""
    program = project.program(diagnosis.sink.file)
    if program is None:
        return False
    return any(ast.unparse(node) == operand.expression for node in _written(program, diagnosis))


def written_at(program: Program, node: ast.expr) -> bool:
    """Whether the value of an expression is changed in place right there: `kept.mul_(decay).add_(new)`, `x[i] = v`."""
    parent = program.names.parent(node)
    while isinstance(parent, ast.Attribute | ast.Call | ast.Subscript) and _receiver(parent) is node:
        if isinstance(parent, ast.Attribute) and _is_in_place(parent.attr):
            return True
        if isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load):
            return True
        node, parent = parent, program.names.parent(parent)
    return False


def _written(program: Program, diagnosis: Diagnosis) -> list[ast.expr]:
    inside = list(expressions_in(program, diagnosis.sink.span))
    statements = scope.statements_at(program, diagnosis.sink.span.line)
    inside += [one.target for one in statements if isinstance(one, ast.AugAssign)]
    return [one for one in inside if written_at(program, one) or _is_target(program, one)]


def _is_target(program: Program, node: ast.expr) -> bool:
    """Whether something is added to `node`: `total += loss`."""
    parent = program.names.parent(node)
    return isinstance(parent, ast.AugAssign) and parent.target is node


def _receiver(node: ast.Attribute | ast.Call | ast.Subscript) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node.value


def _is_in_place(method: str) -> bool:
    return method.endswith("_") and not method.endswith("__")
