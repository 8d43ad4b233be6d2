"""What the patterns of a `match` say of its subject, where they fit and where they do not."""

import ast
from collections.abc import Callable, Hashable

from devfix_codemods.ir.keys import key
from devfix_codemods.ir.nodes import ALWAYS, Guard, Literal, Node

Equal = Callable[[ast.expr | bool | None], Literal]
"""The literal of `subject == value`, and of `subject is value` for None, True and False."""


def fits(pattern: ast.pattern, holds: bool, equal: Equal) -> Guard:
    """The literals that follow from a pattern having fitted, or not: those of constants are tests as others are."""
    match pattern:
        case ast.MatchValue(value=value) | ast.MatchSingleton(value=value):
            atom, positive = equal(value)
            return frozenset({(atom, positive is holds)})
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return fits(inner, holds, equal)
        case ast.MatchOr(patterns=patterns):
            return _fits_any([fits(one, True, equal) for one in patterns], holds)
    return ALWAYS


def _fits_any(parts: list[Guard], holds: bool) -> Guard:
    """Alternatives are an atom of their own: where one of them fits, nothing is known of each."""
    if not all(len(one) == 1 for one in parts):
        return ALWAYS
    whole: Guard = frozenset({(("or", *parts), holds)})
    return whole if holds else whole.union((atom, not positive) for part in parts for atom, positive in part)


def identity(subject: Node, value: bool | None) -> Hashable:
    """The atom of `subject is value`."""
    return ("none", key(subject)) if value is None else ("compare", "Is", key(subject), ("const", repr(value)))
