"""The weights of a loss stay on the host.

## What it does

Finds class weights and `pos_weight` that were made on the host and given to a loss whose predictions live elsewhere:
to its functional form, or to a loss module that is never moved. They are made, or moved, where the predictions are.

## Why it fails

A loss module keeps its weights as buffers, and nobody thinks of moving a loss. Predictions and targets are both on
the device, and still:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    (when checking argument for argument weight in method wrapper_CUDA_nll_loss_forward)

## Before

    weights = torch.tensor([0.2, 0.8])
    criterion = nn.CrossEntropyLoss(weight=weights)
    for x, y in loader:
        loss = criterion(model(x.to(device)), y.to(device))

## After

    weights = torch.tensor([0.2, 0.8])
    criterion = nn.CrossEntropyLoss(weight=weights).to(device)
    for x, y in loader:
        loss = criterion(model(x.to(device)), y.to(device))

## Fix safety

Safe: the loss fails today wherever the device is not the host, and where it is, nothing changes.

## Since torch

Any.
"""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.evidence import last_name
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.places import HOST, may_be_device
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule, _division, _following
from devfix_codemods.rules._moves import device_words, insertable, mover_for, text_of


def check(program: Program) -> Iterator[Finding]:
    if not any(_may_weigh(program, one) for one in program.names.calls):
        return
    seen = set()
    for meeting in (*program.facts.meetings, *program.facts.followings):
        if meeting.context.worker or not _division.is_weight(meeting) or meeting.misplaced.place != HOST:
            continue
        origin = meeting.misplaced.value.origin
        if origin is None or origin.node in seen or _division.code_for(program, meeting) != RULE.code:
            continue
        seen.add(origin.node)
        yield _finding(program, meeting, origin.node)


def _finding(program: Program, meeting: Meeting, birth: ast.AST) -> Finding:
    is_module = meeting.misplaced.role == "module"
    anchor = text_of(program, meeting.anchor.node)
    where = device_words(meeting) if may_be_device(meeting.anchor.place) else f"where `{anchor}` is"
    name = text_of(program, meeting.misplaced.node)
    fix = _of_module(program, meeting, birth) if is_module else _of_function(program, meeting)
    told = f"the weights of `{name}`" if is_module else f"the weights `{name}`"
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"{told} are on the host, but the loss needs them {where}",
        span=program.source.span(meeting.node),
        origin=program.source.span(birth),
        trail=(
            Step(program.source.span(birth), "made here, on the host"),
            Step(program.source.span(meeting.node), f"and met by `{anchor}` here"),
        ),
        fix=fix,
        advice=None if fix else "move the weights to the device of the predictions",
    )


def _of_function(program: Program, meeting: Meeting) -> Fix | None:
    found = _following.following(program, meeting)
    return Fix(found.safety, f"Bring the weights to `{found.device}`", found.edits) if found is not None else None


def _of_module(program: Program, meeting: Meeting, birth: ast.AST) -> Fix | None:
    """Moved with the loss, where that is built."""
    if not isinstance(birth, ast.Call) or not insertable(meeting.context):
        return None
    statement = program.names.statement(birth)
    device = _following.device_at(program, meeting, birth)
    if device is not None:
        text = f".to({device})"
    elif may_be_device(meeting.anchor.place):
        mover = mover_for(program, meeting, statement, blocking=True)
        if mover is None or mover.safety is not Safety.SAFE:
            return None
        text = mover.suffix
    else:
        return None
    edit = ReplaceExpression(program.source.span(birth), f"__node__{text}")
    return Fix(Safety.SAFE, "Move the loss with its weights where it is built", (edit,))


def _may_weigh(program: Program, call: ast.Call) -> bool:
    """A call with a `weight`, or of a loss that is built with something."""
    if any(one.arg in {"weight", "pos_weight"} for one in call.keywords):
        return True
    name = program.names.qualified(call.func) or last_name(call.func) or ""
    return bool(call.args or call.keywords) and name.endswith("Loss")


def _gives_weights(data: bytes) -> bool:
    """Some loss is given an argument at all."""
    return _GIVEN.search(data) is not None


_GIVEN = re.compile(rb"Loss\(\s*[^)\s]|weight\s*=")

RULE = Rule(
    "DVF106",
    "loss-weight-off-device",
    ((b"Loss(",), (b"weight", b"cross_entropy"), (b"weight", b"nll_loss")),
    check,
    looks=_gives_weights,
)
