"""Names of the file that its own statements, or a function, would read before the file binds them."""

import ast
from collections.abc import Iterator

from devfix_codemods.applicability.names import names_bound, names_read
from devfix_codemods.applicability.points import line_of
from devfix_codemods.edits.operations import Edit
from devfix_codemods.findings import Fix
from devfix_codemods.program import Program
from devfix_codemods.project.names import Scope

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def late_names(program: Program, fix: Fix) -> list[str]:
    """The names that `fix` reads above all statements of the file that bind the name, or in functions which the file
    first calls there."""
    module, late = program.names.module, set()
    brought = {name for one in fix.edits for name in names_bound(one)}
    for edit, (name, scope) in ((one, each) for one in fix.edits for each in names_read(program, one)):
        if name in brought or any(one.binds(name) for one in scope.chain() if one is not module):
            continue
        bound = list(_bindings(program, name))
        read = _read_at(program, edit, scope)
        if bound and read is not None and read < min(bound):
            late.add(name)
    return sorted(late)


def _read_at(program: Program, edit: Edit, scope: Scope) -> int | None:
    """The line of the file's own statement that reads what an edit writes, by itself or by a call."""
    if scope is program.names.module:
        return line_of(edit)
    function = _outermost(program, scope)
    return _first_call(program, function) if function is not None else None


def _outermost(program: Program, scope: Scope) -> _Function | None:
    """The function at the top of the file in which a scope is."""
    around, scopes = list(scope.chain()), program.names.scopes
    return next((one for one in program.tree.body if isinstance(one, _Function) and scopes.get(one) in around), None)


def _bindings(program: Program, name: str) -> Iterator[int]:
    """The lines of the module's own statements that bind a name, and of functions that may, as they declare it."""
    for statement in program.tree.body:
        nodes = list(ast.walk(statement))
        if not isinstance(statement, _Function | ast.ClassDef):
            yield from (line for node in nodes if (line := _line_of_binding(node, name)) is not None)
        elif statement.name == name or any(isinstance(node, ast.Global) and name in node.names for node in nodes):
            yield statement.lineno


def _line_of_binding(node: ast.AST, name: str) -> int | None:
    match node:
        case ast.Name(id=found, ctx=ast.Store()) | ast.FunctionDef(name=found) | ast.ClassDef(name=found):
            return node.lineno if found == name else None
        case ast.alias(name=found, asname=other):
            return node.lineno if (other or found).partition(".")[0] == name else None
    return None


def _first_call(program: Program, function: _Function) -> int | None:
    """The line of the module's own first call of a function, be it by way of others; None where there is none."""
    names, size = {function.name}, 0
    functions = [node for node in program.tree.body if isinstance(node, _Function)]
    while len(names) > size:
        size = len(names)
        names |= {one.name for one in functions if any(_called(call) in names for call in _calls(one))}
    own = [node for node in program.tree.body if not isinstance(node, _Function | ast.ClassDef)]
    return min((call.lineno for one in own for call in _calls(one) if _called(call) in names), default=None)


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _called(call: ast.Call) -> str | None:
    return call.func.id if isinstance(call.func, ast.Name) else None
