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

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._replicas import Question, questions
from devfix_codemods.rules._wrappers import Models, Wrapper, device_of_move, wrappers

_ASKS_FOR_CARD = frozenset({" >= 0", " > -1", " != -1", " == -1", " < 0"})
_NCCL = (b'"nccl"', b"'nccl'")
_PLACING = (b"set_default_device", b"set_default_tensor_type", b"with torch.device", b"deepspeed", b"accelerate")


def check(program: Program) -> Iterator[Finding]:
    models = Models(program)
    elsewhere = any(word in program.source.data for word in _PLACING)
    for wrapper in wrappers(program):
        if wrapper.is_distributed and not elsewhere:
            yield from _distributed(program, models, wrapper)
            yield from _host_by_number(program, wrapper)
        yield from _contradiction(program, models, wrapper)
    for question in questions(program):
        yield _replicated(program, question)


# Wrapped on the host


def _distributed(program: Program, models: Models, wrapper: Wrapper) -> Iterator[Finding]:
    """The repairs of one `DistributedDataParallel`: the move before it, and `device_ids` as it takes them."""
    ids = wrapper.device_ids
    if ids is None or (isinstance(ids, ast.Constant) and ids.value is None):
        return
    told: list[str] = []
    device = _device(program, models, wrapper)
    if device is not None:
        told.append("the model is on the host when it is wrapped")
    listed = _listed(program, wrapper, device)
    if listed is not None:
        told.append(listed[1])
    if not told:
        return
    only_on_cuda = isinstance(ids, ast.IfExp)
    edits = () if only_on_cuda else _edits(program, wrapper, device, listed[0] if listed else None)
    advice = None if edits else "move the model before it is wrapped"
    title = "Move the model before it is wrapped" if device else "Give `device_ids` as the wrapper takes them"
    yield Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`DistributedDataParallel` refuses this: {' and '.join(told)}",
        span=program.source.span(wrapper.call),
        fix=Fix(Safety.SAFE, title, edits) if edits else Fix(Safety.MANUAL, title),
        advice=advice,
    )


def _device(program: Program, models: Models, wrapper: Wrapper) -> str | None:
    """The device to which a model that is on the host has to go: that of the wrapper's own move, or of `device_ids`."""
    if not models.is_on_host(wrapper.model, wrapper.call):
        return None
    if wrapper.moved is not None:
        device = device_of_move(wrapper.moved)
    else:
        device = wrapper.only_device
    return None if device is None else program.source.segment(program.source.span(device))


def _listed(program: Program, wrapper: Wrapper, device: str | None) -> tuple[str, str] | None:
    """`device_ids` as a list, and not where the device is the host; with what is wrong as it is."""
    ids = wrapper.device_ids
    assert ids is not None
    text = program.source.segment(program.source.span(ids))
    if isinstance(ids, ast.Constant) and isinstance(ids.value, int):
        return f"[{text}]", "`device_ids` is no list"
    if _is_guarded(program, wrapper):
        return None
    chosen = device or _device_before(program, wrapper)
    test = _test_for_cuda(program, chosen, wrapper) if chosen else None
    if wrapper.only_device is None or test is None or b"gloo" not in program.source.data:
        return None
    return f"{text} if {test} else None", "without CUDA it takes no `device_ids`"


def _is_guarded(program: Program, wrapper: Wrapper) -> bool:
    """Whether the wrapper stands where CUDA was asked for."""
    return any(
        isinstance(one, (ast.If, ast.IfExp)) and ("cuda" in ast.unparse(one.test) or "device" in ast.unparse(one.test))
        for one in program.names.ancestors(wrapper.call)
    )


def _device_before(program: Program, wrapper: Wrapper) -> str | None:
    """The device that the model was moved to in this function, before it was wrapped."""
    name = dotted(wrapper.model)
    if name is None:
        call = wrapper.model
        moved = device_of_move(call) if isinstance(call, ast.Call) and _is_to(call) else None
        return dotted(moved) if moved is not None else None
    for one in Models(program).moves(name, wrapper.call):
        device = device_of_move(one) if _is_to(one) else None
        if device is not None:
            return dotted(device)
    return None


def _is_to(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "to"


def _test_for_cuda(program: Program, device: str, wrapper: Wrapper) -> str | None:
    """The condition under which `device` is no CPU: `device = … if torch.cuda.is_available() else …`."""
    function = scope.function_around(program, wrapper.call)
    found = [
        one.value
        for one in ast.walk(function or program.tree)
        if isinstance(one, ast.Assign) and [dotted(target) for target in one.targets] == [device]
    ]
    value = found[0] if len(found) == 1 else None
    while isinstance(value, ast.Call) and program.names.qualified(value.func) == "torch.device" and value.args:
        value = value.args[0]
    if not isinstance(value, ast.IfExp) or "cpu" not in ast.unparse(value.orelse):
        return None
    test = program.source.segment(program.source.span(value.test))
    return test if "is_available" in test else None


def _host_by_number(program: Program, wrapper: Wrapper) -> Iterator[Finding]:
    """`device_ids=[self.card]`, where `card=-1` is the default of the class and stands for the host."""
    name = dotted(wrapper.only_device) if wrapper.only_device is not None else None
    if name is None or _is_guarded(program, wrapper) or any(one in program.source.data for one in _NCCL):
        return
    last = name.removeprefix("self.")
    if "." in last or not _is_host_by_default(program, last):
        return
    yield Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`DistributedDataParallel` takes no `device_ids` on the host, where `{name}` is by default",
        span=program.source.span(wrapper.call),
        fix=Fix(Safety.MANUAL, "Give `device_ids` on CUDA only"),
        advice=f"give `device_ids=None` where `{name}` is the host",
    )


def _is_host_by_default(program: Program, name: str) -> bool:
    """Whether a parameter of that name is -1 by default, and the file asks whether it is a card's number."""
    defaults = (
        one.value
        for each in ast.walk(program.tree)
        if isinstance(each, scope.Function)
        for one in program.bindings.of(each, name)
        if isinstance(one.node, ast.arg)
    )
    asks = (one for one in ast.walk(program.tree) if isinstance(one, ast.Compare))
    return any(one is not None and ast.unparse(one) == "-1" for one in defaults) and any(
        (dotted(one.left) or "").removeprefix("self.") == name
        and ast.unparse(one)[len(ast.unparse(one.left)) :] in _ASKS_FOR_CARD
        for one in asks
    )


def _edits(program: Program, wrapper: Wrapper, device: str | None, ids: str | None) -> tuple[Edit, ...]:
    if device is not None and wrapper.moved is not None:
        return (ReplaceExpression(program.source.span(wrapper.moved), _rewritten(program, wrapper, device, ids)),)
    edits: list[Edit] = []
    if device is not None:
        edits.append(ReplaceExpression(program.source.span(wrapper.model), f"__node__.to({device})"))
    if ids is not None and wrapper.device_ids is not None:
        edits.append(ReplaceExpression(program.source.span(wrapper.device_ids), ids))
    return tuple(edits)


def _rewritten(program: Program, wrapper: Wrapper, device: str, ids: str | None) -> str:
    """`DDP(model.to(device), …)`, from `DDP(model, …).to(device)`."""

    def text(node: ast.expr) -> str:
        written = program.source.segment(program.source.span(node))
        if node is wrapper.model:
            return f"{written}.to({device})"
        return ids if ids is not None and node is wrapper.device_ids else written

    given = [text(one) for one in wrapper.call.args]
    given += [f"{one.arg}={text(one.value)}" for one in wrapper.call.keywords]
    return f"{text(wrapper.call.func)}({', '.join(given)})"


# On another device than it is told


def _contradiction(program: Program, models: Models, wrapper: Wrapper) -> Iterator[Finding]:
    """`model.to("cuda:1")` beside `device_ids=[0]`; a configured device beside `device_ids=list(range(n))`."""
    name, ids = dotted(wrapper.model), wrapper.device_ids
    if name is None or ids is None:
        return
    moves = [one for one in models.moves(name, wrapper.call) if isinstance(one.func, ast.Attribute)]
    device = device_of_move(moves[-1]) if moves else None
    if device is None or not (
        _other_index(device, ids) or (_counts_from_zero(ids) and _is_configured(program, device))
    ):
        return
    where = program.source.segment(program.source.span(device))
    yield Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"the model is on `{where}`, but `{wrapper.name}` works on the devices that `device_ids` names first",
        span=program.source.span(wrapper.call),
        origin=program.source.span(moves[-1]),
        trail=(Step(program.source.span(moves[-1]), "the model is moved here"),),
        fix=Fix(Safety.MANUAL, "Name the model's device first in `device_ids`"),
        advice=f"give `device_ids` whose first is `{where}`, or move the model to the first of them",
    )


def _other_index(device: ast.expr, ids: ast.expr) -> bool:
    """Whether both are numbers, and not the same."""
    first = ids.elts[0] if isinstance(ids, (ast.List, ast.Tuple)) and ids.elts else None
    if not isinstance(first, ast.Constant) or not isinstance(device, ast.Constant):
        return False
    text = str(device.value).removeprefix("cuda:")
    return text.isdigit() and isinstance(first.value, int) and int(text) != first.value


def _counts_from_zero(ids: ast.expr) -> bool:
    """`list(range(n))`."""
    return ast.unparse(ids).startswith("list(range(") and "," not in ast.unparse(ids)


def _is_configured(program: Program, device: ast.expr) -> bool:
    """Whether a device comes from a configuration as it is: `torch.device(config.DEVICE)`."""
    name = dotted(device)
    made = [
        one.value
        for one in ast.walk(program.tree)
        if isinstance(one, ast.Assign) and name in {dotted(target) for target in one.targets}
    ]
    return bool(made) and all(
        isinstance(one, ast.Call)
        and program.names.qualified(one.func) == "torch.device"
        and len(one.args) == 1
        and isinstance(one.args[0], ast.Attribute)
        for one in made
    )


# In replicas


def _replicated(program: Program, question: Question) -> Finding:
    span = program.source.span(question.node)
    answer = f"{question.tensor}.device" if question.tensor else None
    title = f"Take the device of `{question.tensor}`" if answer else "Take the device of an input"
    fix = Fix(Safety.UNSAFE, title, (ReplaceExpression(span, answer),)) if answer else Fix(Safety.MANUAL, title)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message="the replicas of `DataParallel` have no parameters: `next(self.parameters())` raises `StopIteration`",
        span=span,
        fix=fix,
        advice=None if answer else "take the device of a tensor that the method gets",
    )


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
