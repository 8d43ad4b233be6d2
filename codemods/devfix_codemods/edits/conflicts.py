"""Which edits cannot both be made, as far as their positions tell."""

from collections.abc import Sequence
from itertools import combinations

from devfix_codemods.edits.errors import EditConflict
from devfix_codemods.edits.operations import (
    NODE,
    AddImport,
    Edit,
    InsertStatement,
    MoveImportedName,
    RemoveStatement,
    ReplaceExpression,
    ReplaceStatement,
    RewriteCall,
)
from devfix_codemods.source import Span


def refuse_conflicts(edits: Sequence[Edit]) -> None:
    """Check that all `edits` (no two of them equal) can be made together.

    Raises:
        EditConflict: for the first two that cannot.
    """
    for first, second in combinations(edits, 2):
        if _swallows(first, second) or _swallows(second, first) or _contradicts(first, second):
            raise EditConflict(first, second)


def place(edit: Edit) -> Span | None:
    """What `edit` is anchored at; None for one that belongs to the whole file."""
    if isinstance(edit, AddImport):
        return None
    return edit.anchor if isinstance(edit, InsertStatement) else edit.span


def _swallows(outer: Edit, inner: Edit) -> bool:
    """Whether `outer` throws away the text that `inner` edits."""
    lost, at = _discarded(outer), place(inner)
    if lost is None or at is None:
        return False
    # a statement may go, and others come before or after it
    return lost.contains(at) and not (isinstance(inner, InsertStatement) and at == lost)


def _discarded(edit: Edit) -> Span | None:
    if isinstance(edit, RemoveStatement | ReplaceStatement):
        return edit.span
    if isinstance(edit, ReplaceExpression) and NODE not in edit.code:
        return edit.span
    return None


def _contradicts(first: Edit, second: Edit) -> bool:
    if isinstance(first, AddImport | InsertStatement) or place(first) != place(second):
        return False
    if isinstance(first, ReplaceExpression):
        return isinstance(second, ReplaceExpression)
    if isinstance(first, RewriteCall) and isinstance(second, RewriteCall):
        callees = (first.function or first.method, second.function or second.method)
        return _differ(*callees) or _differ(first.arguments, second.arguments)
    return isinstance(first, MoveImportedName) and isinstance(second, MoveImportedName) and first.name == second.name


def _differ(first: object, second: object) -> bool:
    return first is not None and second is not None and first != second
