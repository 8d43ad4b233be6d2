"""A metric accumulates on the host what it is given on a device.

## What it does

Finds metrics of torchmetrics that a plain loop updates with device tensors and that nothing moved, and moves them where
they are built. In metrics of ignite it moves what is added to an accumulator that was made on the metric's device. In
classes where a framework places everything, it points at metrics that are forced to a device.

## Why it fails

A metric keeps its counts in tensors of its own, on the host until it is moved:

    RuntimeError: Encountered different devices in metric calculation (see stacktrace for details). This could be due to
    the metric class not being on the same device as input. Instead of `metric=BinaryAccuracy(...)` try to do
    `metric=BinaryAccuracy(...).to(device)` where device corresponds to the device of the input.

An attribute of an `nn.Module` or a LightningModule moves with it, and a `.to("cuda")` there breaks every other device.

## Before

    accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=10)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        accuracy.update(model(x), y)

## After

    accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=10).to(device)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        accuracy.update(model(x), y)

## Fix safety

Safe: the update fails today wherever the device is not the host, and where it is, the move does nothing. Unsafe where
the values come a longer way, or only what stands around says where the metric belongs. A metric that is forced to a
device gets advice and no edit.

## Since torch

Any.
"""

from collections.abc import Iterator

from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.ir import Node
from devfix_codemods.placement.accumulators import Sum, sums_across_devices
from devfix_codemods.placement.metrics import forced, is_metric
from devfix_codemods.placement.search import Conflict
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule


def check(program: Program) -> Iterator[Finding]:
    yield from (_forced(program, call) for call in forced(program.placement))
    yield from (_summed(program, one) for one in sums_across_devices(program.placement))


def _owns(conflict: Conflict) -> bool:
    """What ends at what an unread function gives is no matter, as for other modules."""
    return is_metric(conflict.birth) and "unread" not in conflict.links


# Sums in metrics of ignite


def _summed(program: Program, one: Sum) -> Finding:
    assert one.made.syntax is not None
    made, added = program.source.span(one.made.syntax), program.source.span(one.added)
    text = program.source.segment(added)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{text}` is where the model's output is, but is added to an accumulator on `self._device`",
        span=added,
        origin=made,
        trail=(
            Step(made, "the accumulator is made here, on `self._device`"),
            Step(added, "and this comes from the output, on the model's device"),
        ),
        fix=Fix(
            Safety.SAFE,
            "Move what is added to `self._device`",
            (ReplaceExpression(added, "__node__.to(self._device)"),),
        ),
    )


# Forced to a device


def _forced(program: Program, call: Node) -> Finding:
    assert call.syntax is not None
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message="the metric is forced to CUDA where it is built, though it moves with what holds it",
        span=program.source.span(call.syntax),
        fix=Fix(Safety.MANUAL, "Leave the metric where it is built"),
        advice="leave the move to the LightningModule that holds the metric; elsewhere, name the device of the model",
    )


RULE = Rule("DVF205", "metric-not-moved", ((b"torchmetrics",), (b"ignite", b"_device", b"+=")), check, owns=_owns)
