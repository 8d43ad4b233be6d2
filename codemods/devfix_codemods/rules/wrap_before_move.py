"""A model is wrapped for several devices while it is on the host, or told devices that it is not on.

## What it does

Finds models that `DistributedDataParallel` wraps on the host, `device_ids` that are no list or that a run on the CPU
refuses (the number of a card, too, that is -1 for the host by default), `device_ids` that contradict where the model
is, and `next(self.parameters()).device` in a `forward` that `DataParallel` replicates.

## Why it fails

`DistributedDataParallel` looks at its model when it wraps it, so moving the wrapper comes too late:

    ValueError: DistributedDataParallel device_ids and output_device arguments only work with
    single-device/multiple-device GPU modules or CPU modules, but got device_ids [0], output_device 0, and module
    parameters {device(type='cpu')}.

`DataParallel` wants the model on the first of its devices:

    RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on
    device: cuda:1

and its replicas hold no parameters: `next(self.parameters())` raises `StopIteration` there.

## Before

    model = DistributedDataParallel(Net(), device_ids=[rank]).to(rank)

## After

    model = DistributedDataParallel(Net().to(rank), device_ids=[rank])

## Fix safety

Safe where the wrapper raises today. Unsafe for the device of an input in place of that of the first parameter. Where
`device_ids` contradict the model's device there is advice and no edit. `DataParallel(model).to(device)` is right.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from devfix_codemods.assumptions.index import Index, closed, unindented
from devfix_codemods.edits.operations import NODE, Edit, ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.ir import Node, Op
from devfix_codemods.ordering.replicas import Question, questions
from devfix_codemods.ordering.wrappers import Wrapper, Wrappers
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.source import Span


def check(program: Program) -> Iterator[Finding]:
    index = program.index
    wrappers = Wrappers(index)
    for wrapper in wrappers:
        if wrapper.is_distributed and not wrappers.are_placed:
            yield from _distributed(index, wrappers, wrapper)
            yield from _host_by_number(index, wrappers, wrapper)
        yield from _contradiction(index, wrappers, wrapper)
    for question in questions(index):
        yield _replicated(index, question)


# Wrapped on the host


def _distributed(index: Index, wrappers: Wrappers, wrapper: Wrapper) -> Iterator[Finding]:
    """The repairs of one `DistributedDataParallel`: the move before it, and `device_ids` as it takes them."""
    written = wrapper.syntax("device_ids", 1)
    if written is None or wrappers.is_nothing(wrapper):
        return
    found = wrappers.device(wrapper)
    device = found[1] if found is not None else None
    listed = _listed(index, wrappers, wrapper, found[0] if found is not None else None)
    told = ["the model is on the host when it is wrapped"] if device is not None else []
    told += [listed[1]] if listed is not None else []
    if not told:
        return
    only_on_cuda = isinstance(written, ast.IfExp)
    edits = () if only_on_cuda else _edits(index, wrapper, device, listed[0] if listed else None)
    title = "Move the model before it is wrapped" if device else "Give `device_ids` as the wrapper takes them"
    yield _finding(
        index,
        wrapper.call,
        f"`DistributedDataParallel` refuses this: {' and '.join(told)}",
        Fix(Safety.SAFE, title, edits) if edits else Fix(Safety.MANUAL, title),
        None if edits else "move the model before it is wrapped",
    )


def _listed(index: Index, wrappers: Wrappers, wrapper: Wrapper, device: Node | None) -> tuple[str, str] | None:
    """`device_ids` as a list, and not where the device is the host; with what is wrong as it is."""
    written = wrapper.syntax("device_ids", 1)
    assert written is not None
    assert wrapper.ids is not None
    if wrapper.ids.op is Op.CONST and isinstance(wrapper.ids.extra, int):
        return f"[{index.text(written)}]", "`device_ids` is no list"
    moved = wrappers.moved_to(wrapper)
    device = device or (moved[1] if moved is not None else None)
    test = None if wrappers.is_guarded(wrapper) else wrappers.test_for_cuda(wrapper, device)
    return (f"{index.text(written)} if {test} else None", "without CUDA it takes no `device_ids`") if test else None


def _edits(index: Index, wrapper: Wrapper, device: str | None, ids: str | None) -> tuple[Edit, ...]:
    model, written = wrapper.syntax("module", 0), wrapper.syntax("device_ids", 1)
    assert model is not None
    assert written is not None
    if device is not None and wrapper.moved is not None:
        changed = {model: f"{closed(model, index.text(model))}.to({device})"}
        changed |= {written: ids} if ids is not None else {}
        return (ReplaceExpression(index.span(wrapper.moved), _rewritten(index, wrapper, changed)),)
    edits = (ReplaceExpression(index.source.span(model), f"{NODE}.to({device})"),) if device is not None else ()
    return (*edits, ReplaceExpression(index.source.span(written), ids)) if ids is not None else edits


def _rewritten(index: Index, wrapper: Wrapper, changed: dict[ast.expr, str]) -> str:
    """`DDP(model.to(device), …)`, from `DDP(model, …).to(device)`: all else stays as it is written."""
    call = wrapper.call.syntax
    assert call is not None
    whole = index.source.span(call)
    text, start = "", whole.start
    for one in sorted(changed, key=index.source.span):
        span = index.source.span(one)
        text += index.source.segment(Span(*start, *span.start)) + changed[one]
        start = span.end
    text += index.source.segment(Span(*start, *whole.end))
    statement = next(one for one in index.ancestors(call) if isinstance(one, ast.stmt))
    return unindented(text, statement)


# On another device than it is told


def _host_by_number(index: Index, wrappers: Wrappers, wrapper: Wrapper) -> Iterator[Finding]:
    if wrapper.only_id is not None and wrappers.is_host_by_number(wrapper):
        name = wrappers.id_text(wrapper)
        message = f"`DistributedDataParallel` takes no `device_ids` on the host, where `{name}` is by default"
        fix = Fix(Safety.MANUAL, "Give `device_ids` on CUDA only")
        yield _finding(index, wrapper.call, message, fix, f"give `device_ids=None` where `{name}` is the host")


def _contradiction(index: Index, wrappers: Wrappers, wrapper: Wrapper) -> Iterator[Finding]:
    moved = wrappers.moved_to(wrapper)
    if moved is None or not wrappers.contradicts(wrapper, moved[1]):
        return
    where, span = index.text(moved[2]), index.span(moved[0])
    yield replace(
        _finding(
            index,
            wrapper.call,
            f"the model is on `{where}`, but `{wrapper.name}` works on the devices that `device_ids` names first",
            Fix(Safety.MANUAL, "Name the model's device first in `device_ids`"),
            f"give `device_ids` whose first is `{where}`, or move the model to the first of them",
        ),
        origin=span,
        trail=(Step(span, "the model is moved here"),),
    )


# In replicas


def _replicated(index: Index, question: Question) -> Finding:
    answer = f"{question.tensor}.device" if question.tensor else None
    title = f"Take the device of `{question.tensor}`" if answer else "Take the device of an input"
    edits = (ReplaceExpression(index.span(question.node), answer),) if answer else ()
    message = "the replicas of `DataParallel` have no parameters: `next(self.parameters())` raises `StopIteration`"
    fix = Fix(Safety.UNSAFE if answer else Safety.MANUAL, title, edits)
    return _finding(
        index, question.node, message, fix, None if answer else "take the device of a tensor that the method gets"
    )


def _finding(index: Index, node: Node, message: str, fix: Fix, advice: str | None) -> Finding:
    return Finding(RULE.code, RULE.name, message, index.span(node), fix=fix, advice=advice)


RULE = Rule(
    "DVF208",
    "wrap-before-move",
    (
        (b"DistributedDataParallel",),
        (b"DataParallel", b"device_ids"),
        (b"DataParallel", b"next(self.parameters()).device"),
    ),
    check,
)
