"""`x: T = value` as an assignment that has an annotation: what is true of `x = value` is true of it."""

import ast


class Assign(ast.Assign):
    """An assignment with an annotation; `ast.unparse` and visitors take it for one without.

    Annotations without a value, and those of a class's body, which declare fields, stay `ast.AnnAssign`.
    """

    _fields = (*ast.Assign._fields, "annotation")
    annotation: ast.expr


def unified(tree: ast.Module) -> ast.Module:
    """`tree` itself, with annotated assignments in its functions and at the top of the module as `Assign`."""
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    for node, declares in pending:  # grows
        for name in _BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list):
                block[:] = block if declares else map(_unified, block)
                pending += [(one, _declares(one, declares)) for one in block]
    return tree


_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def _declares(node: ast.AST, outer: bool) -> bool:
    """Whether what is annotated in a node is a field of a class."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return outer or isinstance(node, ast.ClassDef)


def _unified(statement: ast.AST) -> ast.AST:
    match statement:
        case ast.AnnAssign(target=target, value=ast.expr() as value, annotation=annotation):
            made = Assign([target], value)
            made.annotation = annotation
            return ast.copy_location(made, statement)
    return statement
