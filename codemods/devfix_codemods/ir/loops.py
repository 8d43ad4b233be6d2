"""Which paths surely are taken: loops with a first turn, cases that take whatever is left."""

import ast

from devfix_codemods.ir.keys import name
from devfix_codemods.ir.nodes import Node, Op


def runs(iterable: Node) -> bool:
    """Whether a loop has a first turn: over `range(3)`, or over a display."""
    if iterable.op is Op.SEQUENCE:
        return any(not isinstance(one.syntax, ast.Starred) for one in iterable.args)
    if iterable.op is not Op.CALL or name(iterable.args[0]) != "builtins.range":
        return False
    bounds = [one.extra for one in iterable.args[1:] if one.op is Op.CONST and isinstance(one.extra, int)]
    return len(bounds) == len(iterable.args) - 1 and _has_first(bounds)


def _has_first(bounds: list[int]) -> bool:
    return 0 < len(bounds) <= 2 and len(range(*bounds)) > 0


def takes_all(case: ast.match_case) -> bool:
    """`case _:`, `case other:`"""
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
