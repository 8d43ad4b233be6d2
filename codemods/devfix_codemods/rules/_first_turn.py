"""Values that stand in for those of a loop, until its first turn replaces them."""

import ast
from typing import TypeGuard

from devfix_codemods.flow.facts import Meeting
from devfix_codemods.program import Program


def is_replaced_first(program: Program, meeting: Meeting) -> bool:
    """`if first: xs = x; first = False`, `else: xs = torch.cat((xs, x))`: what `xs` was before comes to nothing."""
    node, inner = meeting.misplaced.node, meeting.node
    if not isinstance(node, ast.Name):
        return False
    for outer in program.names.ancestors(inner):
        if isinstance(outer, ast.If) and isinstance(outer.test, ast.Name):
            bound = {one.id for each in outer.body for one in ast.walk(each) if _is_store(one)}
            if {node.id, outer.test.id} <= bound and not any(inner in ast.walk(each) for each in outer.body):
                return True
    return False


def _is_store(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
