"""The ways in which code spells the host as a device."""

import ast

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.project.tree import last_name


def is_host_literal(node: ast.expr) -> bool:
    """`"cpu"`, `torch.device("cpu")`."""
    match node:
        case ast.Call(func=function, args=[ast.Constant(value="cpu")], keywords=[]):
            return last_name(function) == "device"
    return isinstance(node, ast.Constant) and node.value == "cpu"


def is_host(program: Program, node: ast.expr) -> bool:
    """Whether `node` spells the host, or is a name that holds nothing else."""
    if not isinstance(node, ast.Name):
        return is_host_literal(node)
    around = scope.function_around(program, node) or program.tree
    given = [program.names.statement(one) for one in scope.stores(around, node.id)]
    return bool(given) and all(isinstance(one, ast.Assign) and is_host_literal(one.value) for one in given)
