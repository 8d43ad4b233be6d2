"""Moves that change nothing: of a value to its own device."""

import ast
from textwrap import dedent

from devfix_codemods.edits.operations import NODE, Edit, InsertStatement, ReplaceExpression, ReplaceStatement
from devfix_codemods.source import Source


def text_of(source: Source, edit: Edit) -> str:
    """What an edit writes, with what stands there now."""
    if isinstance(edit, ReplaceExpression) and NODE in edit.code:
        return edit.code.replace(NODE, f"({source.segment(edit.span)})")
    return edit.code if isinstance(edit, InsertStatement | ReplaceExpression | ReplaceStatement) else ""


def moves_to_itself(source: Source, edit: Edit, of_module: bool = False) -> bool:
    """`x.to(x)`, `x.to(x.device)`, `net.to(next(net.parameters()).device)`: the value is there already."""
    try:
        tree = ast.parse(dedent(text_of(source, edit)))
    except SyntaxError:  # the part of an expression
        return False
    for one in ast.walk(tree):
        match one:
            case (
                ast.Call(func=ast.Attribute(value=value, attr="to"), args=[device, *_])
                | ast.Call(
                    func=ast.Attribute(value=value, attr="to"), keywords=[ast.keyword(arg="device", value=device), *_]
                )
            ):
                own = ast.unparse(value)
                places = {f"next({own}.parameters()).device"} if of_module else {own, f"{own}.device"}
                if ast.unparse(device) in places:
                    return True
    return False
