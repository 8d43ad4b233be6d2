"""An optimizer has state before its model is moved.

## What it does

Finds optimizers whose state is loaded, or made by their constructor, while the model is still on the host, and moves
the model, under the same condition, before the optimizer is built. Finds
`torch.save(model.cpu().state_dict(), …)` in a loop that goes on with the model, and checkpoint hooks that put host
copies into the state of a running optimizer.

## Why it fails

An optimizer makes most of its state in its first step, where the parameters are then: `SGD(model.parameters())`
before `model.to(device)` works. But `load_state_dict` puts the state where the parameters are at that moment, and
`Adagrad` makes its sums at once. `model.to(device)` moves parameters, not what an optimizer holds of them:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

## Before

    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.load_state_dict(checkpoint["optimizer"])
    model.to(device)

## After

    model = Net()
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.load_state_dict(checkpoint["optimizer"])

## Fix safety

Safe where the state is loaded into an optimizer of torch, or made by `Adagrad`: the first step fails today wherever the
device is not the host, and where it is, the move does nothing. Unsafe where the optimizer comes from
`configure_optimizers()`, whose state is unknown, and for what is saved. There is advice and no edit where the model is
used between, or the device gets its name there.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator

from devfix_codemods.assumptions.index import Index
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.ir import Node
from devfix_codemods.ordering.optimizers import Early, Optimizers, TakenAway
from devfix_codemods.program import Program
from devfix_codemods.repairs.late_moves import moved_before
from devfix_codemods.rules import Rule


def check(program: Program) -> Iterator[Finding]:
    index = program.index
    optimizers = Optimizers(index)
    yield from (_early(program, one) for one in optimizers.early())
    yield from (_saved(index, one) for one in optimizers.taken_away())
    yield from (_stored(index, one) for one in optimizers.stored_copies())


# State before the move


def _early(program: Program, early: Early) -> Finding:
    edits = moved_before(program.source, early.built, early.moving) if early.movable else ()
    safety = Safety.MANUAL if not edits else Safety.SAFE if early.certain else Safety.UNSAFE
    title = f"Move `{early.model}` before its optimizer is built"
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"the optimizer {early.why} while `{early.model}` is on the host, and a later move leaves that behind",
        span=program.source.span(early.state),
        origin=program.source.span(early.built),
        trail=(
            Step(program.source.span(early.built), "the optimizer is built here"),
            Step(program.source.span(early.state), f"it {early.why} here"),
            Step(program.source.span(early.move), f"`{early.model}` is moved here, too late"),
        ),
        fix=Fix(safety, title, edits),
        advice=None if edits else f"move `{early.model}` before this optimizer is built",
    )


# A model that is taken away


def _saved(index: Index, saved: TakenAway) -> Finding:
    code = f"{{name: value.cpu() for name, value in {saved.model}.state_dict().items()}}"
    span, moved = index.span(saved.call), index.span(saved.moved)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{saved.model}.cpu()` moves the model itself to the host, and the loop goes on there",
        span=span,
        origin=moved,
        trail=(Step(moved, f"`{saved.model}` was moved here, once"),),
        fix=Fix(
            Safety.UNSAFE,
            "Save copies on the host, and leave the model where it is",
            (ReplaceExpression(span, code),),
        ),
    )


def _stored(index: Index, copy: Node) -> Finding:
    assert isinstance(copy.syntax, ast.Call)
    assert copy.statement is not None
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"a checkpoint holds the live state of the optimizer: `{index.text(copy.syntax)}` is put back into it",
        span=index.source.span(copy.statement),
        fix=Fix(Safety.MANUAL, "Build a copy of the checkpoint"),
        advice="return new dicts and lists with the host copies, and leave those of the checkpoint as they are",
    )


RULE = Rule(
    "DVF206",
    "optimizer-before-move",
    (
        (b"ptim", b".load_state_dict(", b".parameters()"),
        (b"Adagrad(", b".parameters()"),
        (b".configure_optimizers()",),
        (b".cpu().state_dict()", b"torch.save("),
        (b"on_save_checkpoint", b".cpu()"),
    ),
    check,
)
