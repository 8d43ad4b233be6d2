"""The strings of code that goes into an f-string: before Python 3.12 none can have its quotes."""

from collections.abc import Iterable

import libcst as cst
from devfix_codemods.edits import fragments


def fitting(code: str, around: Iterable[cst.CSTNode]) -> str:
    """The expression `code`, its strings in other quotes than those of the f-strings `around` it, where they can be."""
    taken = {str(node.end) for node in around if isinstance(node, cst.FormattedString)}
    if not any(quote in code for quote in taken):
        return code
    respelled = fragments.expression(code).visit(_Respelling(taken))
    assert isinstance(respelled, cst.BaseExpression)  # a string takes the place of a string
    return cst.Module(()).code_for_node(respelled)


class _Respelling(cst.CSTTransformer):
    def __init__(self, taken: set[str]) -> None:
        super().__init__()
        self._taken = taken

    def leave_SimpleString(  # noqa: N802 (libcst)
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.BaseExpression:
        text = updated_node.raw_value
        free = [quote for quote in "'\"" if quote not in text and not self._clash(f"{quote}{text}{quote}")]
        if "\\" in text or not free or not self._clash(updated_node.value):
            return updated_node
        return updated_node.with_changes(value=f"{updated_node.prefix}{free[0]}{text}{free[0]}")

    def _clash(self, spelled: str) -> bool:
        return any(quote in spelled for quote in self._taken)
