"""A moving average of weights is updated with weights that may be on another device.

## What it does

Finds `shadow.lerp_(live, …)` and `shadow.mul_(…).add_(live, …)`, also with a multiple of `live`, over two sets of
weights of which one can be placed by itself (an averaged model with a `device` of its own, a shadow copy on the host),
and takes the live weight to the shadow's device in the update. `copy_` lines of the same loop get the same, so that the
loop reads alike.

## Why it fails

In-place averages need both tensors on one device (`copy_` alone does not):

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cpu and cuda:0!

## Before

    for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):
        ema_v.lerp_(model_v, weight=1.0 - decay)

## After

    for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):
        ema_v.lerp_(model_v.to(device=ema_v.device), weight=1.0 - decay)

## Fix safety

Safe: where both are on one device already, `.to` returns the tensor itself.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator

from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.placement.averages import Average, copies_beside, stray
from devfix_codemods.program import Program
from devfix_codemods.project.names import is_dotted
from devfix_codemods.rules import Rule


def check(program: Program) -> Iterator[Finding]:
    yield from filter(None, (_finding(program, one) for one in stray(program.placement)))


def _finding(program: Program, average: Average) -> Finding | None:
    call, written, given = average.update.syntax, _written(average), _given(average)
    if call is None or written is None or given is None:
        return None
    shadow, live = _text(program, written), _text(program, given)
    span = program.source.span(call)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{shadow}` may live on another device than `{live}`, and `{average.method}` needs both on one",
        span=span,
        trail=(Step(span, f"`{shadow}` is placed by itself; `{live}` lives where the trained model does"),),
        fix=_fix(program, average, shadow, live) if _is_plain(written) else None,
        advice=f"move `{live}` to the device of `{shadow}` first",
    )


def _written(average: Average) -> ast.expr | None:
    """The average, as the update spells it."""
    match average.update.syntax:
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Attribute(value=written, attr="mul_")))):
            return written
        case ast.Call(func=ast.Attribute(value=written)):
            return written
    return None


def _given(average: Average) -> ast.expr | None:
    """The live weight, as the update is given it."""
    call = average.update.syntax
    return call.args[0] if isinstance(call, ast.Call) and call.args else None


def _text(program: Program, node: ast.expr) -> str:
    return program.source.segment(program.source.span(node))


def _fix(program: Program, average: Average, shadow: str, live: str) -> Fix:
    edits = []
    for update in (average, *copies_beside(program.placement, average)):
        written, given = _written(update), _given(update)
        if written is not None and given is not None and _is_plain(written):  # each by the name that it has there
            code = f"__node__.to(device={_text(program, written)}.device)"
            edits.append(ReplaceExpression(program.source.span(given), code))
    return Fix(Safety.SAFE, f"Move `{live}` to the device of `{shadow}`", tuple(dict.fromkeys(edits)))


def _is_plain(node: ast.expr) -> bool:
    """An expression that may be read twice: a dotted name, or an item of one under a name or a constant."""
    if isinstance(node, ast.Subscript):
        return is_dotted(node.value) and isinstance(node.slice, (ast.Name, ast.Constant))
    return is_dotted(node)


RULE = Rule("DVF207", "ema-off-device", ((b".lerp_(",), (b".mul_(", b".add_(")), check)
