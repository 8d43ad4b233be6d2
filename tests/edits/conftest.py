"""A file to be edited in tests, its nodes found by their text."""

import ast
from collections.abc import Callable

import pytest
from devfix_codemods.edits.apply import apply
from devfix_codemods.edits.operations import Edit
from devfix_codemods.source import Source, Span


class Sheet:
    """One source text. Nodes are named by their text, or by its beginning and an ellipsis."""

    def __init__(self, text: str | bytes) -> None:
        self.source = Source("sheet.py", text if isinstance(text, bytes) else text.encode())

    def expression(self, text: str, nth: int = 0) -> Span:
        return self._find(ast.expr, text, nth)

    def statement(self, text: str, nth: int = 0) -> Span:
        return self._find(ast.stmt, text, nth)

    def edited(self, *edits: Edit) -> str:
        return self.edited_bytes(*edits).decode(self.source.encoding)

    def edited_bytes(self, *edits: Edit) -> bytes:
        return apply(self.source, edits)

    def _find(self, kind: type[ast.AST], text: str, nth: int) -> Span:
        nodes = (node for node in ast.walk(self.source.tree) if isinstance(node, kind))
        spans = sorted({self.source.span(node) for node in nodes})
        start, dots, _ = text.partition("…")
        segments = ((span, self.source.segment(span)) for span in spans)
        fitting = [span for span, code in segments if (code.startswith(start) if dots else code == text)]
        return fitting[nth]


@pytest.fixture
def sheet() -> Callable[[str | bytes], Sheet]:
    return Sheet
