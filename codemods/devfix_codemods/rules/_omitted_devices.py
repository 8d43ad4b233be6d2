"""Calls of a file's own functions that leave out `device`, whose default is CUDA, though a device is at hand."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.rules._cuda_sites import names_cuda
from devfix_codemods.rules._device_values import sounds_like_device
from devfix_codemods.rules._optional import optional_parameters


@dataclass(frozen=True, slots=True)
class Omission:
    """A call that gives `parameter`, a device that is CUDA by default, no value; maybe others in the file do.

    `tensor` is the name of what it gives to a parameter that the function uses as a tensor, where that is.
    """

    call: ast.Call
    function: ast.FunctionDef
    parameter: str
    given_elsewhere: bool
    tensor: str | None


def omissions(program: Program) -> Iterator[Omission]:
    defaults = _defaults(program)
    calls = [one for one in program.names.calls if isinstance(one.func, ast.Name) and one.func.id in defaults]
    given = {one.func.id for one in calls if isinstance(one.func, ast.Name) and _gives(one, *defaults[one.func.id][1:])}
    for call in calls:
        assert isinstance(call.func, ast.Name)
        function, parameter, index = defaults[call.func.id]
        if not _gives(call, parameter, index):
            tensor = _tensor_given(program, function, call)
            yield Omission(call, function, parameter, call.func.id in given, tensor)


def _tensor_given(program: Program, function: ast.FunctionDef, call: ast.Call) -> str | None:
    """The first name among the arguments whose parameter is a tensor by its uses, and is not moved there."""
    evidence = program.unit.evidence[function]
    optional = optional_parameters(function)
    pairs = [*zip(scope.parameters(function), call.args), *((one.arg, one.value) for one in call.keywords)]
    for parameter, given in pairs:
        if parameter is None or not isinstance(given, ast.Name) or parameter in optional | evidence.moved:
            continue
        if evidence.is_tensor(parameter, function.lineno) and parameter not in evidence.numpy:
            return given.id
    return None


def _gives(call: ast.Call, parameter: str, index: int) -> bool:
    """Whether a call gives a parameter a value, or may do so with a star."""
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    return starred or len(call.args) > index or bool({one.arg for one in call.keywords} & {parameter, None})


def _defaults(program: Program) -> dict[str, tuple[ast.FunctionDef, str, int]]:
    """The functions of the module, by names that nothing else binds: the parameter, and its position."""
    functions = [one for one in program.tree.body if isinstance(one, ast.FunctionDef)]
    taken = [one.name for one in functions]
    found = {}
    for function in functions:
        given = _cuda_by_default(program, function)
        if given is not None and taken.count(function.name) == 1 and not _is_stored(program, function.name):
            found[function.name] = (function, *given)
    return found


def _cuda_by_default(program: Program, function: ast.FunctionDef) -> tuple[str, int] | None:
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    first = len(plain) - len(arguments.defaults)
    pairs = [
        (one.arg, first + index, value) for index, (one, value) in enumerate(zip(plain[first:], arguments.defaults))
    ]
    pairs += [
        (one.arg, len(plain), value)
        for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults)
        if value is not None
    ]
    positional = {one.arg for one in arguments.posonlyargs}
    for name, index, value in pairs:
        if sounds_like_device(name) and name not in positional and names_cuda(program, value):
            return name, index
    return None


def _is_stored(program: Program, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        for node in ast.walk(program.tree)
    ) or any(name in scope.parameters(node) for node in ast.walk(program.tree) if isinstance(node, scope.Function))
