"""Functions and methods of the project that give tensors of the host, alone or in what they return, to some calls."""

import ast
from collections.abc import Set

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.rules._attributes import Kept, assignments, is_carried_along, own_attribute, targets
from devfix_codemods.rules._called import home_of, named_class
from devfix_codemods.rules._host_parameters import host_parameters
from devfix_codemods.rules._kept_tables import ANYHOW, DEEPEST, Look, called, rank, values_of
from devfix_codemods.rules._moving_helpers import MOVES

_CONTAINERS = frozenset({"tuple", "list", "dict"})


def gives_host(program: Program, call: ast.Call, moved: Set[ast.Call]) -> bool:
    """Whether a function or method of the project makes tensors on the host for `call`, with factories not `moved`.

    They have dimensions; `device`, where the function takes one, is left out, or the host.
    """
    return _of_call(program, call, Look(moved=moved))


def keeps_host(program: Program, node: ast.expr, moved: Set[ast.Call]) -> bool:
    """Whether `self.name` as a whole is such a tensor, or an object with some, and nobody takes it along.

    A tensor that the class itself makes is another rule's.
    """
    owner, name = scope.class_around(program, node), own_attribute(node)
    if owner is None or name is None:
        return False
    given = list(assignments(program, Kept(owner, name)))
    values = [one.value if isinstance(one, (ast.Assign, ast.AnnAssign)) else None for one in given]
    look = Look(moved=moved)
    helped = (one is not None and _holds(program, one, look) and _is_helped(program, one) for one in values)
    return bool(values) and all(helped) and not is_carried_along(program, Kept(owner, name))


def _is_helped(program: Program, value: ast.expr) -> bool:
    """Whether a function, a method or a class of the project has part in a value."""
    calls = [one for one in ast.walk(value) if isinstance(one, ast.Call)]
    return any(called(program, one, ANYHOW) or named_class(program, one.func) for one in calls)


def _holds(program: Program, node: ast.expr, look: Look) -> bool:
    if look.depth > DEEPEST:
        return False
    if rank(program, node, look) > 0:
        return True
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(_holds(program, one, look) for one in parts)
        case ast.Dict(values=parts):
            return any(_holds(program, one, look) for one in parts)
        case ast.ListComp(elt=part) | ast.GeneratorExp(elt=part) | ast.DictComp(value=part):
            return _holds(program, part, look)
        case ast.Name():
            values = values_of(program, node)
            inner = look.deeper(look.host)
            return bool(values) and all(one is not None and _holds(program, one, inner) for one in values)
        case ast.Call(func=ast.Name(id=name)) if name in _CONTAINERS:
            return any(_holds(program, one, look) for one in scope.given_to(node))
        case ast.Call():
            return _of_call(program, node, look)
    return False


def _of_call(program: Program, call: ast.Call, look: Look) -> bool:
    found = called(program, call, look)
    if found is not None:
        there, returned, inner = found
        return bool(returned) and all(_holds(there, one, inner) for one in returned)
    owner = named_class(program, call.func)
    return owner is not None and _is_plain_holder(program, owner) and _built_with(program, owner, call, look)


def _is_plain_holder(program: Program, owner: ast.ClassDef) -> bool:
    """Whether nothing in a class moves what its objects hold, and it is no module."""
    attributes = {one.attr for one in ast.walk(owner) if isinstance(one, ast.Attribute)}
    methods = program.classes.methods(owner)
    return attributes.isdisjoint(MOVES) and MOVES.isdisjoint(methods) and not program.classes.may_be_module(owner)


def _built_with(program: Program, owner: ast.ClassDef, call: ast.Call, look: Look) -> bool:
    """Whether an object gets such tensors, or makes them when it is built."""
    if any(_holds(program, one, look) for one in scope.given_to(call)):
        return True
    constructor = scope.constructor(owner)
    home = home_of(program, owner)
    if constructor is None or home is None:
        return False
    inner = look.deeper(host_parameters(constructor, call, look.host))
    return any(
        rank(home, one.value, inner) > 0
        for one in ast.walk(constructor)
        if isinstance(one, ast.Assign) and any(own_attribute(each) for each in targets(one))
    )
