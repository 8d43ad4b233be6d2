"""Moves that change nothing: of a value to its own device."""

import re

from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression, ReplaceStatement
from devfix_codemods.source import Source

_EXPRESSION = re.compile(r"__node__\.to\((?:device=)?(.+)\.device(?:, non_blocking=\w+)?\)")
_STATEMENT = re.compile(r"(\S+) = \1\.to\((?:device=)?\1\.device(?:, non_blocking=\w+)?\)")


def moves_to_own_device(source: Source, edit: Edit) -> bool:
    """Whether an edit writes `x.to(x.device)`."""
    if isinstance(edit, ReplaceExpression):
        found = _EXPRESSION.fullmatch(edit.code) if edit.code.startswith("__node__.to(") else None
        return found is not None and found[1] == source.segment(edit.span)
    if isinstance(edit, InsertStatement | ReplaceStatement):
        return _STATEMENT.fullmatch(edit.code) is not None
    return False
