"""Values whose device a fix reads, and which have none, or not as an attribute."""

import ast

from devfix_codemods import scope
from devfix_codemods.edits.operations import AddImport, Edit, InsertStatement
from devfix_codemods.findings import Fix
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tree import children, walk
from devfix_codemods.program import Program
from devfix_codemods.rules._asked_types import is_asked, is_denied
from devfix_codemods.rules._called import class_of
from devfix_codemods.rules._given_arrays import gives_no_device
from devfix_codemods.rules._no_tensors import counted
from devfix_codemods.rules._tensor_words import PLAIN
from devfix_codemods.tenable.names import parsed


def without_device(program: Program, fix: Fix) -> list[str]:
    """The expressions `x.device` in the edits of `fix`, where `x` is asked for its type and may be no tensor.

    So are those where it is of a class of the project that has a method of this name.
    """
    return sorted(
        {f"{name}.device" for edit in fix.edits for name in _asked_by(edit) if _has_none(program, edit, name)}
    )


def _asked_by(edit: Edit) -> set[str]:
    """The dotted names whose device an edit reads."""
    read = (one for tree in parsed(edit) for one in walk(tree) if isinstance(one, ast.Attribute))
    return {name for one in read if one.attr == "device" and (name := dotted(one.value)) is not None}


def _has_none(program: Program, edit: Edit, name: str) -> bool:
    node = node_at(program, edit)
    if node is None or f"{name}.device" in program.source.segment(program.source.span(program.names.statement(node))):
        return False
    if is_denied(program, name, node) or is_asked(program, name, node) or _has_method(program, name, node):
        return True
    return _is_plain(program, name, node)


def _is_plain(program: Program, name: str, node: ast.AST) -> bool:
    """Whether it is a number, a text or a list: by its annotation, by what it was given last, or as what counts."""
    function = scope.function_around(program, node)
    if function is None or not name.isidentifier():
        return False
    last = scope.given_last(function, name, getattr(node, "lineno", 0))
    if last is not None:
        return gives_no_device(program, last)
    said = scope.annotation(function, name)
    return (said is not None and ast.unparse(said).strip("'\"") in PLAIN) or name in counted(program, function)


def _has_method(program: Program, name: str, node: ast.AST) -> bool:
    """Whether `name.device` is a method, which gives a device only where it is called."""
    function = scope.function_around(program, node)
    read = next(iter(scope.loads(function, {name})), None) if function is not None else None
    owner = class_of(program, read) if isinstance(read, ast.Name) else None
    method = program.classes.methods(owner).get("device") if owner is not None else None
    return method is not None and not method.decorator_list


def node_at(program: Program, edit: Edit) -> ast.expr | ast.stmt | None:
    """The innermost code that holds the place of an edit."""
    if isinstance(edit, AddImport):
        return None
    span = edit.anchor if isinstance(edit, InsertStatement) else edit.span
    found: ast.expr | ast.stmt | None = None
    pending: list[ast.AST] = [program.tree]
    for node in pending:  # grows; inner ones come last
        if isinstance(node, ast.stmt) and not _first_line(node) <= span.line <= (node.end_lineno or 0):
            continue
        pending += children(node)
        if isinstance(node, ast.expr | ast.stmt) and node.lineno <= span.line <= (node.end_lineno or 0):
            found = node if program.source.span(node).contains(span) else found
    return found


def _first_line(statement: ast.stmt) -> int:
    """Where a statement begins, its decorators included."""
    decorators = getattr(statement, "decorator_list", None)
    return min(one.lineno for one in decorators) if decorators else statement.lineno
