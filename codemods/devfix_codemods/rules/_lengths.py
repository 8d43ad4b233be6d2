"""Lengths for `pack_padded_sequence`, which reads them on the host, that are tensors and may be on a device."""

import ast

from devfix_codemods import scope
from devfix_codemods.program import Program

_PACKS = frozenset({"torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.pack_padded_sequence"})


def packs(program: Program) -> list[ast.Call]:
    if b"pack_padded_sequence" not in program.source.data:
        return []
    return [one for one in program.names.calls if program.names.qualified(one.func) in _PACKS]


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


def _lengths(call: ast.Call) -> list[ast.expr]:
    """What a call of `pack_padded_sequence` takes as the lengths."""
    return call.args[1:2] or [one.value for one in call.keywords if one.arg == "lengths"]
