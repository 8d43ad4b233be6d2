"""`x.type(y.type())`, by the name of a type, which only CUDA and the host have."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import Argument, Edit, ReplaceExpression, RewriteCall
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._moves import text_of


@dataclass(frozen=True, slots=True)
class ByType:
    """One such call, the text of what it follows, and the edit that leaves one move of the value."""

    call: ast.Call
    followed: str
    edit: Edit


def followings_by_type(program: Program) -> Iterator[ByType]:
    """All of them in a file, but for those among several moves of one value of which each may have a purpose."""
    for call in program.names.calls:
        match call:
            case ast.Call(
                func=ast.Attribute(attr="type", value=moved),
                args=[ast.Call(func=ast.Attribute(attr="type", value=followed), args=[], keywords=[])],
                keywords=[],
            ) if dotted(followed) is not None and not _is_module(program, moved):
                text = text_of(program, followed)
                edit = _edit(program, call, moved, text)
                if edit is not None:
                    yield ByType(call, text, edit)


def _edit(program: Program, call: ast.Call, moved: ast.expr, text: str) -> Edit | None:
    before, after = _is_move(moved), _next(program, call)
    if before and after is not None:
        return None
    if after is not None and _follows(after, text, "get_device()"):
        value = program.source.segment(program.source.span(moved))
        return ReplaceExpression(program.source.span(after), f"{value}.to({text})")
    if after is not None:
        return RewriteCall(program.source.span(call), None, (Argument(f"{text}.dtype"),), "to")
    if not before:
        return RewriteCall(program.source.span(call), None, (Argument(text),), "to")
    if not any(_follows(moved, text, one) for one in ("get_device()", "device")):
        return None
    assert isinstance(moved, ast.Call)
    assert isinstance(moved.func, ast.Attribute)
    value = program.source.segment(program.source.span(moved.func.value))
    return ReplaceExpression(program.source.span(call), f"{value}.to({text})")


def _is_move(node: ast.AST | None) -> bool:
    """`x.cuda(…)` and `x.to(…)`, but for what is given a dtype alone."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    given = [dotted(one) or "" for one in scope.given_to(node)]
    casts = bool(given) and all(one.endswith("dtype") or one.startswith("torch.") for one in given)
    return node.func.attr == "cuda" or (node.func.attr == "to" and not casts)


def _next(program: Program, call: ast.Call) -> ast.Call | None:
    """The move that follows at once."""
    method = program.names.parent(call)
    outer = program.names.parent(method) if isinstance(method, ast.Attribute) else None
    return outer if isinstance(outer, ast.Call) and outer.func is method and _is_move(outer) else None


def _follows(move: ast.expr, text: str, device: str) -> bool:
    """Whether a move is told nothing but the device of what the type follows."""
    return isinstance(move, ast.Call) and [ast.unparse(one) for one in scope.given_to(move)] == [f"{text}.{device}"]


def _is_module(program: Program, node: ast.expr) -> bool:
    """Whether a name is used as a module around: modules cast more by `.type` than by `.to`."""
    text = dotted(node)
    around = [one for one in program.names.ancestors(node) if one in program.unit.evidence]
    return text is not None and any(text in program.unit.evidence[one].modules for one in around)
