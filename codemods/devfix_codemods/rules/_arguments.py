"""The arguments of calls: what one is given, and calls with others, in which all else stays as it is written."""

import ast

from devfix_codemods.edits.operations import Argument, RewriteCall
from devfix_codemods.source import Span


def given(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """What a call gives the parameter `name` at `position`, -1 for one without; None where it leaves that open."""
    for one in call.keywords:
        if one.arg == name:
            return one.value
    if not 0 <= position < len(call.args) or any(isinstance(one, ast.Starred) for one in call.args[: position + 1]):
        return None
    return call.args[position]


def kept(call: ast.Call) -> tuple[Argument, ...]:
    """All arguments of a call, in the order of the source, in which keywords may stand before a starred one."""
    parts = sorted(
        [(one.lineno, one.col_offset, None) for one in call.args]
        + [(one.lineno, one.col_offset, one.arg) for one in call.keywords],
        key=lambda one: one[:2],
    )
    return tuple(Argument(index, keyword) for index, (_, _, keyword) in enumerate(parts))


def with_argument(call: ast.Call, span: Span, code: str, keyword: str) -> RewriteCall:
    """The call with one more keyword argument."""
    return RewriteCall(span, None, (*kept(call), Argument(code, keyword)))
