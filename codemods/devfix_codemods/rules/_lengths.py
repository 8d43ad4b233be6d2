"""Lengths for `pack_padded_sequence`, which reads them on the host, that are tensors and may be on a device."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.rules._called import home_of
from devfix_codemods.rules._plain_tensors import Tensors
from devfix_codemods.rules._texts import run_with
from devfix_codemods.rules._whereabouts import Made, Whereabouts

_PACKS = frozenset({"torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.pack_padded_sequence"})


def packs(program: Program) -> list[ast.Call]:
    if b"pack_padded_sequence" not in program.source.data:
        return []
    return [one for one in program.names.calls if program.names.qualified(one.func) in _PACKS]


def lengths_off_host(program: Program, calls: list[ast.Call], whereabouts: Whereabouts) -> Iterator[ast.expr]:
    """The lengths that each of `calls` is given, where they are surely a tensor, and not surely on the host."""
    tensors = Tensors(program)
    for call in calls:
        for lengths in _lengths(call):
            if tensors.is_tensor(lengths) and whereabouts.source(lengths) is not Made.HOST:
                yield lengths


def is_packed_as_lengths(program: Program, function: scope.Function, made: ast.Call) -> bool:
    """Whether the lengths that a function packs with are computed of the tensor that `made` gives: `mask.sum(1)`."""
    pending = [
        one for each in packs(program) if scope.function_around(program, each) is function for one in _lengths(each)
    ]
    seen: set[str] = set()
    while pending:
        node = pending.pop()
        if node is made:
            return True
        match node:
            case ast.Name(id=name) if name not in seen:
                seen.add(name)
                statements = {program.names.statement(one) for one in scope.stores(function, name)}
                pending += [one.value for one in statements if isinstance(one, ast.Assign)]
            case ast.Call(func=ast.Attribute(value=owner)):
                pending += [owner, *scope.given_to(node)[:1]]
            case ast.BinOp(left=left, right=right):
                pending += [left, right]
            case ast.Attribute(value=owner) | ast.Subscript(value=owner) | ast.UnaryOp(operand=owner):
                pending.append(owner)
    return False


def is_packed_by_model(program: Program, call: ast.AST, name: str) -> bool:
    """Whether the model that `call` calls packs by the lengths that it gets under `name`: they must be on the host."""
    if not isinstance(call, ast.Call):
        return False
    for function, parameter in run_with(program, call, name):
        home = home_of(program, function)
        if home is not None and any(
            isinstance(one, ast.Name) and one.id == parameter
            for each in packs(home)
            if scope.function_around(home, each) is function
            for one in _lengths(each)
        ):
            return True
    return False


def _lengths(call: ast.Call) -> list[ast.expr]:
    """What a call of `pack_padded_sequence` takes as the lengths."""
    return call.args[1:2] or [one.value for one in call.keywords if one.arg == "lengths"]
