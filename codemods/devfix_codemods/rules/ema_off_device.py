"""A moving average of weights is updated with weights that may be on another device.

## What it does

Finds `shadow.lerp_(live, …)` and `shadow.mul_(…).add_(live, …)`, also with a multiple of `live`, over two sets of
weights of which one can be placed by itself (an averaged model with a `device` of its own, a shadow copy on the host),
and takes the live weight to the shadow's device in the update. `copy_` lines of the same loop get the same, so that the
loop reads alike.

Beside a model that accelerate moves, a `diffusers.EMAModel` that nothing moves gets its `.to(accelerator.device)`, and
so does one that loads weights from files in a hook.

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

Safe: where both are on one device already, `.to` returns the tensor itself. Unsafe for an `EMAModel` that is never
moved: on the device it takes memory there.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator

from devfix_codemods.assumptions.index import Index
from devfix_codemods.edits.operations import InsertStatement, ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.placement.accelerate_averages import Stray, stray_models
from devfix_codemods.placement.averages import Average, copies_beside, stray
from devfix_codemods.program import Program
from devfix_codemods.project.names import is_dotted
from devfix_codemods.rules import Rule


def check(program: Program) -> Iterator[Finding]:
    if b"EMAModel" in program.source.data:
        index = program.index
        yield from filter(None, (_of_average(index, one) for one in stray_models(program.placement)))
    if b"lerp_" in program.source.data or b"mul_" in program.source.data:
        yield from filter(None, (_finding(program, one) for one in stray(program.placement)))


def _of_average(index: Index, one: Stray) -> Finding | None:
    match one.made.statement, one.accelerator.statement, one.at.statement:
        case ast.Assign(targets=[ast.Name(id=name)]), ast.Assign(targets=[chosen, *_]), ast.stmt() as anchor:
            device, code = f"{index.text(chosen)}.device", f"{name}.to({index.text(chosen)}.device)"
        case _:
            return None
    if not one.loaded:
        if not isinstance(anchor, ast.Assign) or (guarded := _guarded(index, one, code)) is None:
            return None
        code = guarded
    reason = "accelerate moves the model, and nothing moves the average"
    reason = "what is loaded replaces its weights by those on the host" if one.loaded else reason
    edit = InsertStatement(index.source.span(anchor), "after", code)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{name}` is on the host when the model is on `{device}`: {reason}",
        span=index.span(one.at),
        fix=Fix(Safety.SAFE if one.placed == {"to"} else Safety.UNSAFE, f"Move `{name}` to `{device}`", (edit,)),
    )


def _guarded(index: Index, one: Stray, code: str) -> str | None:
    """A statement under the test under which an average is made, beside what prepares the model."""
    assert one.made.statement is not None
    assert one.at.statement is not None
    around, beside = index.parents[one.made.statement], index.parents[one.at.statement]
    if around is beside:
        return code
    plain = isinstance(around, ast.If) and one.made.statement in around.body and index.parents[around] is beside
    return f"if {index.text(around.test)}:\n    {code}" if plain and is_dotted(around.test) else None  # type: ignore[attr-defined]


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


RULE = Rule("DVF207", "ema-off-device", ((b".lerp_(",), (b".mul_(", b".add_("), (b"EMAModel", b"accelerator")), check)
