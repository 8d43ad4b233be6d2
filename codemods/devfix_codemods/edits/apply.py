"""All edits of a file in one go: one parse, one pass over the tree, one generated text."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace

import libcst as cst
from devfix_codemods.edits import calls
from devfix_codemods.edits.blocks import Blocks
from devfix_codemods.edits.conflicts import refuse_conflicts
from devfix_codemods.edits.depth import with_deep_stack
from devfix_codemods.edits.document import Document, document
from devfix_codemods.edits.masking import masked
from devfix_codemods.edits.operations import Argument, Edit, ReplaceExpression, RewriteCall
from devfix_codemods.edits.plan import Plan, planned
from devfix_codemods.edits.quoting import fitting
from devfix_codemods.edits.replacing import replaced
from devfix_codemods.source import Source


def apply(source: Source, edits: Iterable[Edit]) -> bytes:
    """The bytes of `source` with `edits` made; everything else stays byte for byte. Equal edits are made once.

    Raises:
        EditConflict: two edits exclude each other.
        AnchorMissing: nothing fitting stands where an edit says.
        InvalidCode: an edit brings code that does not parse.
        FormattingLost: an edit falls on a line that libcst does not write as it was.
        NotEditable: the file does not parse, or is nested too deeply.
    """
    chosen = tuple(dict.fromkeys(edits))
    if not chosen:
        return source.data
    refuse_conflicts(chosen)
    mask = masked(source, chosen)
    return mask.unmasked(with_deep_stack(lambda: _edited(mask.source, chosen)))


def _edited(source: Source, edits: Sequence[Edit]) -> bytes:
    parsed = document(source)
    return parsed.written(parsed.module.visit(_Pass(parsed, planned(parsed, edits))))


class _Pass(cst.CSTTransformer):
    """The one pass. Inner nodes are left before outer ones, so that edits inside one another compose."""

    def __init__(self, parsed: Document, plan: Plan) -> None:
        super().__init__()
        self._document = parsed
        self._plan = plan
        self._blocks = Blocks(plan.statements.get)
        self._parents: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        self._parents.append(node)
        return not isinstance(node, cst.BaseStatement) or self._concerns(node)

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        self._parents.pop()
        if isinstance(original_node, cst.Module) and isinstance(updated_node, cst.Module):
            return self._blocks.module(original_node, updated_node)
        if isinstance(original_node, cst.IndentedBlock) and isinstance(updated_node, cst.IndentedBlock):
            return self._blocks.block(original_node, updated_node)
        if isinstance(original_node, cst.SimpleStatementSuite) and isinstance(updated_node, cst.SimpleStatementSuite):
            return self._blocks.suite(original_node, updated_node)
        if isinstance(original_node, cst.BaseExpression) and isinstance(updated_node, cst.BaseExpression):
            return self._expression(original_node, updated_node)
        return updated_node

    def _concerns(self, statement: cst.CSTNode) -> bool:
        """Whether an edit lies in `statement`; others are not walked through."""
        places = self._plan.places
        index = bisect_left(places, self._document.outset(statement))
        return index < len(places) and places[index] <= self._document.end(statement)

    def _expression(self, old: cst.BaseExpression, new: cst.BaseExpression) -> cst.BaseExpression:
        edits = self._plan.expressions.get(old, ())
        for edit in edits:
            if isinstance(edit, RewriteCall) and isinstance(new, cst.Call):
                new = new if edit.function is None else calls.with_function(new, edit.function)
                new = new if edit.method is None else calls.with_method(new, edit.method)
                new = new if edit.arguments is None else calls.with_arguments(new, self._fitting(edit.arguments))
        for edit in edits:
            if isinstance(edit, ReplaceExpression):
                code = fitting(edit.code, self._parents)
                new = replaced(code, old, new, self._parents[-1], self._document.neighbours(old))
        return new

    def _fitting(self, arguments: Sequence[Argument]) -> list[Argument]:
        return [
            replace(one, value=fitting(one.value, self._parents)) if isinstance(one.value, str) else one
            for one in arguments
        ]
