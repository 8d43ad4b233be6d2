"""Names that a file has only where it is run as a script: `if __name__ == "__main__": device = …`."""

import ast
from collections.abc import Iterable, Iterator
from textwrap import dedent

from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression, RewriteCall
from devfix_codemods.ir import Function, Node
from devfix_codemods.placement.analysis import Analysis


def reads_script_name(analysis: Analysis, edit: Edit) -> bool:
    """Whether an edit makes a function read such a name that other files import, or that nothing here calls, and that
    does not read it yet; or a class, which is there for other files."""
    if not isinstance(edit, InsertStatement | ReplaceExpression | RewriteCall):
        return False
    function = _around(analysis, edit.anchor.line if isinstance(edit, InsertStatement) else edit.span.line)
    return function is not None and lacks_script_name(analysis, function, _words(edit))


def lacks_script_name(analysis: Analysis, function: Function, words: Iterable[str]) -> bool:
    """Whether one of these words is such a name in such a function."""
    bound = analysis.module.top.finals
    words = {one for one in words if _is_of_script(bound.get(one))}
    outer = _outermost(analysis, function)
    home = [one for one in analysis.module.functions if outer.owner is not None and one.owner is outer.owner]
    inside = [one for one in analysis.module.functions if _outermost(analysis, one) in {outer, *home}]
    if not words.difference(*map(_reads_from_outside, inside)):
        return False
    return _is_for_others(analysis, outer) or outer not in analysis.births.calls.values()


def _reads_from_outside(function: Function) -> set[str]:
    """The names that a function reads, and does not bind."""
    bound = {one for one, node in function.finals.items() if node.function is function}
    read = (one for one in ast.walk(function.syntax) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))
    return {one.id for one in read}.difference(function.parameters, bound)


def _is_for_others(analysis: Analysis, function: Function) -> bool:
    """Whether other files speak of a function, of its class, or of what calls it here."""
    pending = [function]
    for one in pending:  # grows
        if one.owner is not None or analysis.kinds.imported.is_spoken_of(one.name):
            return True
        calls = (_outermost(analysis, call.function) for call in analysis.kinds.calls_of(one))
        pending += (each for each in calls if each not in pending and each is not analysis.module.top)
    return False


def _is_of_script(node: Node | None) -> bool:
    return node is not None and any("__main__" in str(atom) for atom, _ in node.guard)


def _outermost(analysis: Analysis, function: Function) -> Function:
    """The function of the file, or the method of one of its classes, that a function stands in."""
    while function.parent is not None and function.parent is not analysis.module.top:
        function = function.parent
    return function


def _around(analysis: Analysis, line: int) -> Function | None:
    """The innermost function that a line stands in."""
    found: Function | None = None
    begun = 0
    for one in analysis.module.functions:
        syntax = one.syntax
        if not isinstance(syntax, ast.Module) and begun <= syntax.lineno < line <= (syntax.end_lineno or 0):
            found, begun = one, syntax.lineno
    return found


def _words(edit: InsertStatement | ReplaceExpression | RewriteCall) -> Iterator[str]:
    """The names that are written."""
    texts = [str(one.value) for one in edit.arguments or ()] if isinstance(edit, RewriteCall) else [edit.code]
    for text in texts:
        try:
            tree = ast.parse(dedent(text).strip())
        except SyntaxError:  # the part of an expression
            continue
        yield from (one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))
