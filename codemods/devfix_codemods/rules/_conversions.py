"""`.numpy()` of tensors: which arrays are written to, and which stand in one statement."""

import ast


def converted(node: ast.AST) -> ast.expr | None:
    """`x` of `x.numpy()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=tensor, attr="numpy"), args=[], keywords=[]):
            return tensor
    return None
