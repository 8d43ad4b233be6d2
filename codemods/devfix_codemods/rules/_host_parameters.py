"""What a call tells a function about devices: which of its parameters are None there, or the host."""

import ast

from devfix_codemods import scope
from devfix_codemods.rules._arguments import given
from devfix_codemods.rules._host_literals import is_host_literal


def host_parameters(function: scope.Function, call: ast.Call, around: frozenset[str]) -> frozenset[str]:
    """The parameters that `call` leaves at None or the host, or gives that; those `around` it are such themselves.

    None of them is given another value in the function.
    """
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        return frozenset()
    positional = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    bound = 1 if positional[:1] in (["self"], ["cls"]) else 0
    defaults = _defaults(function)
    found = set()
    for name in scope.parameters(function):
        position = positional.index(name) - bound if name in positional else -1
        value = given(call, position, name)
        told = spells_host(value, around) if value is not None else name in defaults and spells_host(defaults[name])
        if told and _stays_so(function, name):
            found.add(name)
    return frozenset(found)


def spells_host(node: ast.expr, host: frozenset[str] = frozenset()) -> bool:
    """Whether a device is None, the host, or one of the names that are such: `device or "cpu"`, `torch.device(d)`."""
    match node:
        case ast.Constant(value=None):
            return True
        case ast.Name(id=name):
            return name in host
        case ast.BoolOp(op=ast.Or(), values=parts):
            return all(spells_host(one, host) for one in parts)
        case ast.IfExp(body=first, orelse=second):
            return spells_host(first, host) and spells_host(second, host)
        case ast.Call(func=ast.Attribute(attr="device"), args=[ast.Name(id=name)], keywords=[]):
            return name in host
    return is_host_literal(node)


def _defaults(function: scope.Function) -> dict[str, ast.expr]:
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    last = plain[len(plain) - len(arguments.defaults) :]
    found = {one.arg: value for one, value in zip(last, arguments.defaults)}
    return found | {
        one.arg: value for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults) if value is not None
    }


def _stays_so(function: scope.Function, name: str) -> bool:
    """Whether a function gives a parameter nothing but the host: `if device is None: device = torch.device("cpu")`."""
    values = [
        one.value
        for one in ast.walk(function)
        if isinstance(one, ast.Assign) and [each.id for each in one.targets if isinstance(each, ast.Name)] == [name]
    ]
    return len(values) == len(list(scope.stores(function, name))) and all(
        spells_host(one, frozenset({name})) for one in values
    )
