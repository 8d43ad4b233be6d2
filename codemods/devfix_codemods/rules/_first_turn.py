"""Values that stand in for those of a loop, until its first turn replaces them."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.program import Program


def is_replaced_first(program: Program, meeting: Meeting) -> bool:
    """`if first: xs = x; first = False`, `else: xs = torch.cat((xs, x))`: what `xs` was before comes to nothing."""
    node, inner = meeting.misplaced.node, meeting.node
    if not isinstance(node, ast.Name):
        return False
    for outer in program.names.ancestors(inner):
        if isinstance(outer, ast.If) and isinstance(outer.test, ast.Name):
            bound = {name for each in outer.body for name in scope.stored(each)}
            if {node.id, outer.test.id} <= bound and not any(inner in ast.walk(each) for each in outer.body):
                return True
    return False
