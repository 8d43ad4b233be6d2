"""Names that a fix writes where nothing binds them: the edited program would raise `NameError` there."""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent

from devfix_codemods.edits.conflicts import place
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
from devfix_codemods.findings import Fix
from devfix_codemods.program import Program
from devfix_codemods.project.names import Scope
from devfix_codemods.project.tree import stored
from devfix_codemods.source import Span

_GIVEN = frozenset({*dir(builtins), "__file__", "__path__", "__class__", NODE})
"""What is bound without the file's doing."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A name that an edit reads or binds in a scope."""

    text: str
    scope: Scope


def unbound_names(program: Program, fix: Fix) -> list[str]:
    """The names that the edits of `fix` read, and that neither a scope around the place nor the fix itself binds.

    None of a file whose names may come from elsewhere: by a star import, or where it reads a name that it never binds.
    """
    if program.names.starred:
        return []
    read = {one for edit in fix.edits for one in _reads(program, edit)}
    missing = [one for one in read if not one.scope.sees(one.text) and not program.names.is_foreign(one.text)]
    if not missing:
        return []
    bound = {one for edit in fix.edits for one in _binds(program, edit)}
    return sorted(
        {one.text for one in missing if bound.isdisjoint(_Name(one.text, each) for each in one.scope.chain())}
    )


def names_read(program: Program, edit: Edit) -> Iterator[tuple[str, Scope]]:
    """The names that an edit reads, each with the scope in which it does."""
    yield from ((one.text, one.scope) for one in _reads(program, edit))


def names_bound(edit: Edit) -> Iterator[str]:
    """The names that an edit binds."""
    yield from (one for tree in parsed(edit) for one in _bound_in(tree))


def _reads(program: Program, edit: Edit) -> Iterator[_Name]:
    for tree in parsed(edit):
        names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
        yield from (_Name(one, _scope_of(program, edit)) for one in names - _GIVEN - set(_bound_in(tree)))


def _binds(program: Program, edit: Edit) -> Iterator[_Name]:
    if isinstance(edit, ReplaceExpression) and _is_target(program, edit.span):
        yield _Name(edit.code, _scope_of(program, edit))
    else:
        yield from (_Name(one, _scope_of(program, edit)) for one in names_bound(edit))


def _is_target(program: Program, span: Span) -> bool:
    """Whether what stands at `span` is assigned to."""
    targets = (one for one in ast.walk(program.tree) if isinstance(getattr(one, "ctx", None), ast.Store))
    return any(program.source.span(one) == span for one in targets)


def parsed(edit: Edit) -> Iterator[ast.Module]:
    for code in _fragments(edit):
        try:
            yield ast.parse(dedent(code).strip())
        except SyntaxError:  # applying it says so
            continue


def _fragments(edit: Edit) -> list[str]:
    match edit:
        case InsertStatement(code=code) | ReplaceExpression(code=code) | ReplaceStatement(code=code):
            return [code]
        case RewriteCall(function=function, arguments=arguments):
            new = (one.value.lstrip("*") for one in arguments or () if isinstance(one.value, str))
            return [*new, *([function] if function is not None else [])]
        case AddImport(module=module, name=name):
            return [f"from {module} import {name}" if name is not None else f"import {module}"]
        case MoveImportedName() | RemoveStatement():
            return []


def _bound_in(tree: ast.Module) -> Iterator[str]:
    """What a fragment binds, be it for a part of itself only."""
    yield from stored(tree)
    for one in ast.walk(tree):
        match one:
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((each.asname or each.name).partition(".")[0] for each in names)


def _scope_of(program: Program, edit: Edit) -> Scope:
    """The innermost scope in whose body an edit stands."""
    found, span = program.names.module, place(edit)
    if span is None:
        return found
    for node, scope in program.names.scopes.items():  # outer ones come first
        if node.lineno <= span.line <= (node.end_lineno or 0) and _body(program, node).contains(span):
            found = scope
    return found


def _body(program: Program, node: ast.AST) -> Span:
    """Where what a definition binds is seen: its defaults and decorators are evaluated outside."""
    match node:
        case ast.Lambda(body=body):
            return program.source.span(body)
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) | ast.ClassDef(body=body):
            first, last = _whole(program, body[0]), program.source.span(body[-1])
            return Span(*first.start, *last.end)
    return program.source.span(node)


def _whole(program: Program, statement: ast.stmt) -> Span:
    """A statement with its decorators."""
    decorators = getattr(statement, "decorator_list", [])
    return program.source.span(decorators[0] if decorators else statement)
