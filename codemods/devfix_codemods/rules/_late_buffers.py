"""Attributes that the constructor sets, and that another method means to register as buffers: that fails."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program
from devfix_codemods.rules import _buffers
from devfix_codemods.rules._attributes import own_attribute

_DROPS = frozenset({"delattr", "hasattr", "setattr"})


@dataclass(frozen=True, slots=True)
class Late:
    """`self.name = …` in the constructor, and the `self.register_buffer("name", …)` of another method."""

    name: str
    assignment: ast.Assign
    registration: ast.Call


def late_buffers(program: Program) -> Iterator[Late]:
    """Each attribute once, in classes that are modules for certain."""
    for owner in program.names.classes if b"register_buffer" in program.source.data else ():
        later = dict(_registrations(program, owner))
        constructor = scope.constructor(owner)
        if not later or not isinstance(constructor, ast.FunctionDef) or not _buffers.is_surely_module(program, owner):
            continue
        for statement in constructor.body:
            name = _plain(statement)
            if name in later and _may_be_buffer(program, constructor, statement) and not _is_dropped(owner, name):
                assert isinstance(statement, ast.Assign)
                yield Late(name, statement, later[name])


def _registrations(program: Program, owner: ast.ClassDef) -> Iterator[tuple[str, ast.Call]]:
    """What methods other than the constructor register, and the constructor does not."""
    found: dict[str, ast.Call] = {}
    early: set[str] = set()
    for node in walk(owner):
        match node:
            case ast.Call(args=[ast.Constant(value=str() as name), *_]) if dotted(node.func) == "self.register_buffer":
                function = scope.function_around(program, node)
                if function is not None and function.name != "__init__":
                    found.setdefault(name, node)
                else:
                    early.add(name)
    yield from ((name, call) for name, call in found.items() if name not in early)


def _plain(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return own_attribute(statement.targets[0])
    return None


def _may_be_buffer(program: Program, constructor: ast.FunctionDef, statement: ast.stmt) -> bool:
    """A tensor, None, or a parameter; set once the module exists."""
    assert isinstance(statement, ast.Assign)
    value = statement.value
    given = isinstance(value, ast.Name) and value.id in scope.parameters(constructor)
    nothing = isinstance(value, ast.Constant) and value.value is None
    return (given or nothing or _buffers.is_tensor(program, value)) and _buffers.is_after_super(constructor, statement)


def _is_dropped(owner: ast.ClassDef, name: str) -> bool:
    """Whether the class deletes the attribute, asks for it by name, or has one of its own of that name."""
    for node in ast.walk(owner):
        match node:
            case ast.Delete(targets=targets) if any(own_attribute(one) == name for one in targets):
                return True
            case ast.Call(func=ast.Name(id=called)) if called in _DROPS:
                return True
    return any(isinstance(one, scope.Function) and one.name == name for one in owner.body)
