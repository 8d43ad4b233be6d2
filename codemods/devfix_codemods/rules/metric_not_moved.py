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

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.catalogue import is_metric_class
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.placement.metrics import is_metric
from devfix_codemods.placement.search import Conflict
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._accumulators import Sum, sums_across_devices
from devfix_codemods.rules._moves import text_of


def check(program: Program) -> Iterator[Finding]:
    yield from (_forced(program, call) for call in _forced_metrics(program))
    yield from (_summed(program, one) for one in sums_across_devices(program))


def _owns(conflict: Conflict) -> bool:
    """What ends at what an unread function gives is no matter, as for other modules."""
    return is_metric(conflict.birth) and "unread" not in conflict.links


# Sums in metrics of ignite


def _summed(program: Program, one: Sum) -> Finding:
    text = text_of(program, one.added)
    edit = ReplaceExpression(program.source.span(one.added), f"__node__.to({one.device})")
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{text}` is added to an accumulator on `{one.device}` from wherever the output is",
        span=program.source.span(one.added),
        origin=program.source.span(one.made),
        trail=(
            Step(program.source.span(one.made), f"the accumulator is made here, on `{one.device}`"),
            Step(program.source.span(one.added), "and this comes from the output, on the model's device"),
        ),
        fix=Fix(Safety.SAFE, f"Move what is added to `{one.device}`", (edit,)),
    )


# Forced to a device


def _forced_metrics(program: Program) -> Iterator[ast.Call]:
    """`Accuracy(…).to("cuda")` in a class that is placed by a framework, or that moves nothing else by name."""
    classes = program.classes
    for call in program.names.calls:
        if not _names_cuda(call) or not isinstance(call.func, ast.Attribute):
            continue
        owner = scope.class_around(program, call)
        built = call.func.value
        if owner is None or not isinstance(built, ast.Call) or not _builds_metric(program, built):
            continue
        others = [one for one in ast.walk(owner) if isinstance(one, ast.Call) and _names_cuda(one)]
        alone = all(
            isinstance(one.func, ast.Attribute)
            and isinstance(one.func.value, ast.Call)
            and isinstance(program.names.statement(one), ast.Assign)
            for one in others
        )
        if classes.is_managed(owner) or (alone and not classes.is_module(owner)):
            yield call


def _builds_metric(program: Program, call: ast.Call) -> bool:
    """`torchmetrics.F1Score(…)`, or the class taken by its name: `getattr(torchmetrics, name)(…)`."""
    if is_metric_class(program.names.qualified(call.func)):
        return True
    function = call.func
    return (
        isinstance(function, ast.Call)
        and isinstance(function.func, ast.Name)
        and function.func.id == "getattr"
        and bool(function.args)
        and is_metric_class(f"{program.names.qualified(function.args[0])}.X")
    )


def _names_cuda(call: ast.Call) -> bool:
    """`.cuda()`, `.to("cuda")`, `.to("cuda:0")`."""
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "cuda":
        return not call.args
    first = call.args[0] if call.func.attr == "to" and call.args else None
    return isinstance(first, ast.Constant) and str(first.value).startswith("cuda")


def _forced(program: Program, call: ast.Call) -> Finding:
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message="the metric is forced to CUDA where it is built, though it moves with what holds it",
        span=program.source.span(call),
        fix=Fix(Safety.MANUAL, "Leave the metric where it is built"),
        advice="leave the move to the LightningModule that holds the metric; elsewhere, name the device of the model",
    )


RULE = Rule("DVF205", "metric-not-moved", ((b"torchmetrics",), (b"ignite", b"_device", b"+=")), check, owns=_owns)
