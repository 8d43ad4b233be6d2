"""A moving average of weights is updated with weights that may be on another device.

## What it does

Finds `shadow.lerp_(live, …)` and `shadow.mul_(…).add_(live, …)` over two sets of weights of which one can be placed by
itself (an averaged model with a `device` of its own, a shadow copy on the host), and takes the live weight to the
shadow's device in the update. `copy_` lines of the same loop get the same, so that the loop reads alike.

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

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Update
from devfix_codemods.flow.places import UNKNOWN, Host, Relation, may_be_device, relation
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._ema_models import StrayAverage, stray_averages
from devfix_codemods.rules._moves import text_of


def check(program: Program) -> Iterator[Finding]:
    if b"EMAModel" in program.source.data:
        yield from (_of_average(program, one) for one in stray_averages(program))
    seen: set[int] = set()
    for update in program.facts.updates:
        if update.method == "copy_" or id(update.node) in seen or not _may_differ(update):
            continue
        seen.add(id(update.node))
        yield _finding(program, update)


def _of_average(program: Program, stray: StrayAverage) -> Finding:
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{stray.name}` is on the host when the model is on `{stray.device}`: {stray.reason}",
        span=program.source.span(stray.node),
        fix=Fix(stray.safety, f"Move `{stray.name}` to `{stray.device}`", (stray.edit,)),
    )


def _may_differ(update: Update) -> bool:
    """Whether the program places the shadow by itself, and nothing takes the live weight along."""
    if update.context.managed or update.live_place == update.shadow_place:
        return False
    if _is_scaled_beside(update) or _follows_already(update):
        return False
    if update.live_place in update.visited or isinstance(update.live_place, Host):
        return False  # the program has taken care of the live weight
    if may_be_device(update.live_place):
        places = update.visited | {update.shadow_place}
        return any(relation(place, update.live_place) is Relation.DIFFERENT for place in places)
    placed = isinstance(update.shadow_place, Host) or may_be_device(update.shadow_place) or bool(update.visited)
    return placed and update.live_place != UNKNOWN


def _is_scaled_beside(update: Update) -> bool:
    """`for x, m, s in zip(…): x.mul_(s).add_(m)`: both are of the loop, and no average has a decay for each weight."""
    function = update.node.func
    scaled = function.value if isinstance(function, ast.Attribute) else None
    if update.loop is None or not isinstance(scaled, ast.Call):
        return False
    of_loop = scope.stored(update.loop.target)
    factors = {one.id for one in scope.given_to(scaled) if isinstance(one, ast.Name)}
    return not factors.isdisjoint(of_loop)


def _follows_already(update: Update) -> bool:
    """`live.to(shadow.device)`"""
    match update.live:
        case ast.Call(func=ast.Attribute(attr="to")) as move:
            return f"{dotted(update.shadow)}.device" in {dotted(one) for one in scope.given_to(move)}
    return False


def _finding(program: Program, update: Update) -> Finding:
    shadow, live = text_of(program, update.shadow), text_of(program, update.live)
    span = program.source.span(update.node)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{shadow}` may live on another device than `{live}`, and `{update.method}` needs both on one",
        span=span,
        trail=(Step(span, f"`{shadow}` is placed by itself; `{live}` lives where the trained model does"),),
        fix=_fix(program, update, shadow, live),
        advice=f"take `{live}` to the device of `{shadow}` first",
    )


def _fix(program: Program, update: Update, shadow: str, live: str) -> Fix | None:
    if not _is_plain(update.shadow):
        return None
    edits = [_edit(program, update, shadow)]
    edits.extend(_edit(program, one, shadow) for one in _copies_beside(program, update))
    return Fix(Safety.SAFE, f"Take `{live}` to the device of `{shadow}`", tuple(dict.fromkeys(edits)))


def _is_plain(node: ast.expr) -> bool:
    """An expression that may be read twice: a dotted name, or an item of one under a name or a constant."""
    if isinstance(node, ast.Subscript):
        return dotted(node.value) is not None and isinstance(node.slice, (ast.Name, ast.Constant))
    return dotted(node) is not None


def _edit(program: Program, update: Update, shadow: str) -> Edit:
    return ReplaceExpression(program.source.span(update.live), f"__node__.to(device={shadow}.device)")


def _copies_beside(program: Program, update: Update) -> list[Update]:
    """`copy_` of the same pair in the same loop."""
    pair = (dotted(update.shadow), dotted(update.live))
    return [
        one
        for one in program.facts.updates
        if one.method == "copy_"
        and one.loop is not None
        and one.loop is update.loop
        and (dotted(one.shadow), dotted(one.live)) == pair
    ]


RULE = Rule("DVF207", "ema-off-device", ((b".lerp_(",), (b".mul_(", b".add_("), (b"EMAModel", b"accelerator")), check)
