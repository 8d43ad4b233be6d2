"""The ways in which code spells the host as a device."""

import ast

from devfix_codemods.flow.evidence import last_name


def is_host_literal(node: ast.expr) -> bool:
    """`"cpu"`, `torch.device("cpu")`."""
    match node:
        case ast.Call(func=function, args=[ast.Constant(value="cpu")], keywords=[]):
            return last_name(function) == "device"
    return isinstance(node, ast.Constant) and node.value == "cpu"
