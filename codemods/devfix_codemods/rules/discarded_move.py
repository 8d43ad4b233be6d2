"""The result of moving a tensor is thrown away.

## What it does

Finds `x.to(device)` and `x.cuda()` as statements of their own where `x` is a tensor, and assigns the result.

## Why it fails

`Tensor.to` returns a copy; only modules are moved in place. The tensor stays on the host, "although I did call
`.to(device)`":

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

## Before

    mask.to(device)

## After

    mask = mask.to(device)

## Fix safety

Safe for moves to a device. Unsafe for moves to the host, and where the tensor is also turned into a numpy array, which
needs the host. Modules, encodings, and values whose kind is not certain are left alone: their `.to` may work in place.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator

from devfix_codemods.edits.operations import ReplaceStatement
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Move
from devfix_codemods.flow.places import HOST, UNKNOWN
from devfix_codemods.flow.values import Kind
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._moves import text_of


def check(program: Program) -> Iterator[Finding]:
    if not program.outline.discards_moves:
        return
    for move in program.facts.moves:
        if not move.result_used and _is_tensor(program, move) and move.target != UNKNOWN:
            yield _finding(program, move)


def _is_tensor(program: Program, move: Move) -> bool:
    """By its birth, or because an operation of torch uses the same value as a tensor."""
    if move.value.kind is Kind.TENSOR:
        return True
    return move.value.kind is Kind.UNKNOWN and move.value.token in program.facts.tensors


def _finding(program: Program, move: Move) -> Finding:
    name = text_of(program, move.receiver)
    origin = move.value.origin
    trail = [Step(program.source.span(move.node), f"the moved copy of `{name}` is thrown away here")]
    if origin is not None and hasattr(origin.node, "lineno") and not isinstance(origin.node, (ast.For, ast.AsyncFor)):
        trail.insert(0, Step(program.source.span(origin.node), f"`{name}` is a tensor, made here"))
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{name}.{move.method}(…)` returns a moved copy that is thrown away: `{name}` stays where it is",
        span=program.source.span(move.node),
        trail=tuple(trail),
        fix=_fix(program, move, name),
        advice=f"assign the result to `{name}`",
    )


def _fix(program: Program, move: Move, name: str) -> Fix | None:
    statement = program.names.statement(move.node)
    if not isinstance(statement, ast.Expr) or dotted(move.receiver) is None:
        return None
    function = move.context.function or program.tree
    safe = move.target != HOST and name not in program.facts.evidence[function].numpy
    code = f"{name} = {program.source.segment(program.source.span(move.node))}"
    edit = ReplaceStatement(program.source.span(statement), code)
    return Fix(Safety.SAFE if safe else Safety.UNSAFE, f"Assign the moved tensor to `{name}`", (edit,))


RULE = Rule("DVF103", "discarded-move", ((b".to(",), (b".cuda(",)), check)
