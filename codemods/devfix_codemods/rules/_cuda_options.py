"""Options given as `{"device": "cuda"}` to a call, where the device has been chosen elsewhere."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.rules._cuda_sites import names_cuda


@dataclass(frozen=True, slots=True)
class Option:
    """The literal under the key `device`. `options` names a mapping that another call gets as the same argument."""

    literal: ast.expr
    options: str | None


def options(program: Program) -> Iterator[Option]:
    """All of them, in source order."""
    for call in program.names.calls:
        for value, keyword in [*((one, None) for one in call.args), *((one.value, one.arg) for one in call.keywords)]:
            literal = _device(program, value)
            if literal is not None:
                shared = keyword if keyword is not None and _is_given_elsewhere(program, call, keyword) else None
                yield Option(literal, shared)


def _device(program: Program, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values):
            if isinstance(key, ast.Constant) and key.value == "device" and names_cuda(program, value):
                return value
    return None


def _is_given_elsewhere(program: Program, call: ast.Call, name: str) -> bool:
    """Whether another call around gets `name=name`, and the name is bound here."""
    around = scope.function_around(program, call) or program.tree
    return name in scope.bound_at(program, program.names.statement(call)) and any(
        isinstance(one, ast.keyword) and one.arg == name and isinstance(one.value, ast.Name) and one.value.id == name
        for one in ast.walk(around)
    )
