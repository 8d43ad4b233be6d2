"""Edits, sorted to the nodes at which they happen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import libcst as cst
from devfix_codemods.edits import added_imports, moved_names
from devfix_codemods.edits.blocks import Insert, Work
from devfix_codemods.edits.conflicts import place
from devfix_codemods.edits.document import Document, Statement
from devfix_codemods.edits.errors import AnchorMissing, EditConflict
from devfix_codemods.edits.operations import (
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


@dataclass
class Plan:
    """What happens where: to expressions, at statements; and the `places` to walk to, in order of the text."""

    expressions: dict[cst.CSTNode, list[RewriteCall | ReplaceExpression]] = field(default_factory=dict)
    statements: dict[cst.CSTNode, Work] = field(default_factory=dict)
    places: list[tuple[int, int]] = field(default_factory=list)

    def work(self, node: cst.CSTNode) -> Work:
        """What happens at a statement, to be added to."""
        return self.statements.setdefault(node, Work())

    def insert(self, node: cst.CSTNode, where: Literal["before", "after"], insert: Insert) -> None:
        """New statements beside a statement, after those that are planned there already."""
        work = self.work(node)
        (work.before if where == "before" else work.after).append(insert)


def planned(document: Document, edits: Sequence[Edit]) -> Plan:
    """The plan of all `edits`, of which no two are equal or in conflict.

    Raises:
        AnchorMissing: an edit names a place where nothing fitting stands.
        EditConflict: an edit stands in an argument or callee that another throws away.
    """
    plan = Plan()
    _plan_expressions(plan, document, edits)
    _plan_imports(plan, document, edits)
    _plan_statements(plan, document, edits)
    plan.places.sort()
    return plan


def _plan_expressions(plan: Plan, document: Document, edits: Sequence[Edit]) -> None:
    for edit in edits:
        if not isinstance(edit, RewriteCall | ReplaceExpression):
            continue
        node = document.expression(edit.span)
        if node is None or (isinstance(edit, RewriteCall) and not _fits(edit, node)):
            raise AnchorMissing(edit)
        if isinstance(edit, RewriteCall) and isinstance(node, cst.Call):
            _refuse_lost(document, edit, node, edits)
        plan.expressions.setdefault(node, []).append(edit)
        plan.places.append(document.start(node))


def _fits(edit: RewriteCall, node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.Call) or (edit.method is not None and not isinstance(node.func, cst.Attribute)):
        return False
    indices = (argument.value for argument in edit.arguments or ())
    return all(isinstance(index, str) or 0 <= index < len(node.args) for index in indices)


def _refuse_lost(document: Document, edit: RewriteCall, call: cst.Call, edits: Iterable[Edit]) -> None:
    """Check that no other edit stands in what `edit` takes out of `call`."""
    lost: list[cst.CSTNode] = [] if edit.function is None else [call.func]
    if edit.arguments is not None:
        kept = {argument.value for argument in edit.arguments}
        lost += [arg.value for index, arg in enumerate(call.args) if index not in kept]
    for node in lost:
        start, end = document.start(node), document.end(node)
        for other in edits:
            at = place(other)
            if other is not edit and at is not None and start <= at.start and at.end <= end:
                raise EditConflict(edit, other)


def _plan_imports(plan: Plan, document: Document, edits: Sequence[Edit]) -> None:
    """Imports that move or join come before other inserts at the same statement, which may need them."""
    moving = [edit for edit in edits if isinstance(edit, MoveImportedName)]
    going = [edit for edit in edits if isinstance(edit, RemoveStatement | ReplaceStatement)]
    moves = moved_names.move_names(document, moving, {_statement(document, edit, edit.span) for edit in going})
    for statement, swapped in moves.swapped.items():
        plan.work(statement).swapped = swapped
        plan.places.append(document.start(statement))
    for statement, code in moves.added:
        plan.insert(statement, "after", Insert(code))
    adding = (edit for edit in edits if isinstance(edit, AddImport))
    for addition in added_imports.add_imports(document.module, adding):
        plan.insert(addition.anchor, addition.where, addition.insert)


def _plan_statements(plan: Plan, document: Document, edits: Iterable[Edit]) -> None:
    for edit in sorted(edits, key=lambda one: one.rank if isinstance(one, InsertStatement) else ()):
        if isinstance(edit, InsertStatement):
            anchor = document.chain_head(_statement(document, edit, edit.anchor))
            plan.insert(anchor, edit.where, Insert(edit.code, edit.spaced))
        elif isinstance(edit, RemoveStatement | ReplaceStatement):
            anchor = _statement(document, edit, edit.span)
            _remove_or_replace(plan.work(anchor), edit, anchor, document)
        else:
            continue
        plan.places.append(document.start(anchor))


def _remove_or_replace(
    work: Work, edit: RemoveStatement | ReplaceStatement, anchor: Statement, document: Document
) -> None:
    """Note what becomes of a statement. An `elif` is no statement of its own, and compound ones are never replaced."""
    if document.chain_head(anchor) is not anchor:
        raise AnchorMissing(edit)
    if isinstance(edit, RemoveStatement):
        work.removed = True
    elif isinstance(anchor, cst.BaseSmallStatement):
        work.code = edit.code
    else:
        raise AnchorMissing(edit)


def _statement(document: Document, edit: Edit, span: Span) -> Statement:
    found = document.statement(span)
    if found is None:
        raise AnchorMissing(edit)
    return found
