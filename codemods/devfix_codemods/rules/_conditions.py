"""Conditions on attributes of an object under which its code runs: two of them may exclude each other."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program


def exclude_each_other(program: Program, first: ast.AST, second: ast.AST) -> bool:
    """Whether one runs only where `self.x` holds and the other only where it does not, which stays as it is made."""
    owner = scope.class_around(program, first)
    if owner is None or scope.class_around(program, second) is not owner:
        return False
    known = dict(_conditions(program, owner, first))
    return any(
        known.get(name) is (not holds) and _is_set_once(program, owner, name)
        for name, holds in _conditions(program, owner, second)
    )


def _conditions(program: Program, owner: ast.ClassDef, node: ast.AST) -> Iterator[tuple[str, bool]]:
    """The attributes on whose truth it depends that `node` runs, and whether they hold then."""
    function, inner = scope.function_around(program, node), node
    if function is None:
        return
    kept = dict(_kept_parameters(function))
    for outer in program.names.ancestors(node):
        match outer:
            case ast.If(test=test, body=body) if inner is not test:
                yield from _told(test, kept, holds=inner in body)
            case ast.IfExp(test=test, body=first) if inner is not test:
                yield from _told(test, kept, holds=inner is first)
        if isinstance(inner, ast.stmt):
            for one in scope.block_of(program, inner):
                if one is inner:
                    break
                if isinstance(one, ast.If) and scope.leaves(one.body) and not one.orelse:
                    yield from _told(one.test, kept, holds=False)
        if outer is function:
            return
        inner = outer


def _kept_parameters(function: scope.Function) -> Iterator[tuple[str, str]]:
    """Parameters that the constructor keeps as they are: `self.x = x`."""
    given = set(scope.parameters(function))
    for one in function.body if function.name == "__init__" else ():
        match one:
            case ast.Assign(targets=[ast.Attribute() as target], value=ast.Name(id=name)) if name in given:
                if (text := dotted(target)) is not None:
                    yield name, text


def _told(test: ast.expr, kept: dict[str, str], *, holds: bool) -> Iterator[tuple[str, bool]]:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _told(inner, kept, holds=not holds)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is holds:
            for one in values:
                yield from _told(one, kept, holds=holds)
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
            if (name := _attribute(left, kept)) is not None:
                yield f"{name} is None", isinstance(op, ast.Is) is holds
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[ast.Constant(value=value)]):
            if (name := _attribute(left, kept)) is not None:
                yield f"{name} == {value!r}", isinstance(op, ast.Eq) is holds
        case _:
            if (name := _attribute(test, kept)) is not None:
                yield name, holds


def _attribute(node: ast.expr, kept: dict[str, str]) -> str | None:
    text = dotted(node)
    text = kept.get(text, text) if text is not None else None
    return text if text is not None and text.startswith("self.") else None


def _is_set_once(program: Program, owner: ast.ClassDef, condition: str) -> bool:
    """Whether the file assigns the attribute of a condition at one place, in the constructor."""
    name = condition.partition(" ")[0].removeprefix("self.")
    stores = [
        one
        for one in ast.walk(program.tree)
        if isinstance(one, ast.Attribute) and one.attr == name and not isinstance(one.ctx, ast.Load)
    ]
    return len(stores) == 1 and scope.function_around(program, stores[0]) is scope.constructor(owner)
