"""Memory is pinned that cannot be: a device's, or the host's of a machine without an accelerator.

## What it does

Finds `.pin_memory()` on tensors that are on a device, loaders with `pin_memory=True` whose dataset gives such tensors,
`x.pin_memory().to(device)` in programs that also run without an accelerator, `pin_memory` that is decided by a
comparison which never holds (`device == "cuda"` for a `torch.device`), or that is on whatever the device is, and the
deprecated argument of `Tensor.pin_memory`.

## Why it fails

Only memory of the host can be pinned, and only for an accelerator that is there:

    RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned
    RuntimeError: Cannot access accelerator device when none is available.

A loader only warns (`'pin_memory' argument is set as true but no accelerator is found`), and pins nothing.

## Before

    data = TensorDataset(x.to(device), y.to(device))
    loader = DataLoader(data, batch_size=32, pin_memory=True)

## After

    data = TensorDataset(x.to(device), y.to(device))
    loader = DataLoader(data, batch_size=32, pin_memory=False)

## Fix safety

Safe for tensors on a device, which raise today, and where the host's memory is pinned only with CUDA at hand. Unsafe
where a loader would pin more or less than it does: `pin_memory=device.type == "cuda"`. Advice only where the deprecated
argument is a parameter that serves for nothing else, and for a torch before 2.5.

## Since torch

Any.
"""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import AddImport, Edit, ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Pin
from devfix_codemods.flow.places import HOST, Choice, describe
from devfix_codemods.flow.tables import AVAILABILITY, LOADERS, MANAGING_PACKAGES, canonical
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._comparisons import comparisons
from devfix_codemods.rules._cuda_only import is_guarded, is_test
from devfix_codemods.rules._devices import Devices
from devfix_codemods.rules._moves import text_of


def check(program: Program) -> Iterator[Finding]:
    calls = [one for one in program.names.calls if _method(one) or _keyword(one) is not None]
    devices = Devices(program)
    yield from _never_true(program, devices)
    if not calls and not _parameters(program):
        return
    told: set[ast.AST] = set()
    for pin in program.facts.pins:
        finding = _of_device(program, pin)
        if finding is not None:
            told.add(pin.node)
            yield finding
    for call in calls:
        if call not in told:
            yield from _of_call(program, devices, call)
    yield from _switched_on(program, devices)
    yield from _to_the_host(program)


def _method(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "pin_memory"


def _keyword(call: ast.Call) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == "pin_memory"), None)


def _of_call(program: Program, devices: Devices, call: ast.Call) -> Iterator[Finding]:
    if _method(call) and (call.args or call.keywords):
        yield from _with_argument(program, call)
    elif _method(call):
        yield from _without_accelerator(program, call)
    elif canonical(program.names.qualified(call.func) or "") in LOADERS and _is_true(_keyword(call)):
        yield from _always_on(program, devices, call)


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _found(program: Program, node: ast.AST, message: str, fix: Fix | None, advice: str | None = None) -> Finding:
    return Finding(RULE.code, RULE.name, message, program.source.span(node), fix=fix, advice=advice)


# -- memory of a device


def _of_device(program: Program, pin: Pin) -> Finding | None:
    if is_guarded(program, pin.node) or (pin.loads and not _is_true(_keyword(pin.node))):
        return None
    where = describe(pin.place)
    if pin.loads:
        value = _keyword(pin.node)
        assert value is not None
        edit: Edit = ReplaceExpression(program.source.span(value), "False")
        message = f"the loader pins its batches, which are {where} already"
        return _found(program, pin.node, message, Fix(Safety.SAFE, "Do not pin what is on a device", (edit,)))
    assert isinstance(pin.node.func, ast.Attribute)
    receiver = pin.node.func.value
    edit = ReplaceExpression(program.source.span(pin.node), program.source.segment(program.source.span(receiver)))
    message = f"`{text_of(program, receiver)}` is {where}: only memory of the host can be pinned"
    return _found(program, pin.node, message, Fix(Safety.SAFE, "Do not pin what is on a device", (edit,)))


# -- no accelerator


def _without_accelerator(program: Program, call: ast.Call) -> Iterator[Finding]:
    """`x.pin_memory().to(device)`, where the program itself says that the device may be the host."""
    method = program.names.parent(call)
    move = program.names.parent(method) if isinstance(method, ast.Attribute) else None
    target = next((one.target for one in program.facts.moves if one.node is move), None)
    if not isinstance(target, Choice) or HOST not in target.options or is_guarded(program, call):
        return
    assert isinstance(call.func, ast.Attribute)
    text, guard = dotted(call.func.value), _asks_for_cuda(program)
    fix = None
    if text is not None and guard is not None:
        edit = ReplaceExpression(program.source.span(call), f"(__node__ if {guard} else {text})")
        fix = Fix(Safety.SAFE, "Pin only where CUDA is available", (edit,))
    yield _found(
        program,
        call,
        "memory is pinned on machines without an accelerator too, where pinning raises",
        fix,
        None if fix else "pin only where `torch.cuda.is_available()`",
    )


def _always_on(program: Program, devices: Devices, call: ast.Call) -> Iterator[Finding]:
    """A loader that pins whatever the device is, in a file that provides for machines without an accelerator."""
    condition = _condition(program, devices, call)
    value = _keyword(call)
    if condition is None or value is None or is_guarded(program, call) or is_test(program) or _is_managed(program):
        return
    if _OTHER_ACCELERATORS.search(program.source.data):
        return  # to pin for CUDA alone would leave those out
    edit = ReplaceExpression(program.source.span(value), condition)
    yield _found(
        program,
        value,
        "the loader pins memory without an accelerator too: torch warns and pins nothing",
        Fix(Safety.UNSAFE, f"Pin only where `{condition}`", (edit,)),
    )


_OTHER_ACCELERATORS = re.compile(rb"\btorch\.(?:accelerator|xpu|npu)\b|is_torch_(?:xpu|npu)_available")
"""Code that also runs on what pins memory as CUDA does."""


def _condition(program: Program, devices: Devices, node: ast.AST) -> str | None:
    guard = _asks_for_cuda(program)
    if guard is None:
        return None
    at_hand = devices.first(program.names.statement(node))
    return f'{at_hand.text}.type == "cuda"' if at_hand is not None and at_hand.is_torch_device else guard


def _asks_for_cuda(program: Program) -> str | None:
    """`torch.cuda.is_available()` as the file itself spells it."""
    for call in program.names.calls:
        if program.names.qualified(call.func) in AVAILABILITY & {"torch.cuda.is_available"} and not call.args:
            return f"{dotted(call.func)}()"
    return None


def _is_managed(program: Program) -> bool:
    return any(
        (getattr(node, "module", None) or node.names[0].name).partition(".")[0] in MANAGING_PACKAGES
        for node in program.names.imports
    )


def _to_the_host(program: Program) -> Iterator[Finding]:
    """`sample.to("cpu", pin_memory=True)`, of a class that hands the flag on to its tensors."""
    for call in program.names.calls:
        to_host = isinstance(call.func, ast.Attribute) and call.func.attr == "to" and len(call.args) == 1
        value = _keyword(call)
        if not to_host or value is None or not _is_true(value) or _asks_for_an_accelerator(program, call):
            continue
        if isinstance(call.args[0], ast.Constant) and call.args[0].value == "cpu":
            edit = ReplaceExpression(program.source.span(value), "torch.cuda.is_available()")
            fix = Fix(Safety.UNSAFE, "Pin only where CUDA is available", (AddImport("torch"), edit))
            yield _found(program, call, "memory is pinned on machines without an accelerator too", fix)


def _asks_for_an_accelerator(program: Program, node: ast.AST) -> bool:
    """Whether a condition around asks where the work is done: one that names the host as a mode does not."""
    around = [one for one in program.names.ancestors(node) if isinstance(one, (ast.If, ast.IfExp))]
    return any(re.search(r"cuda|available|device|gpu|pin", ast.unparse(one.test)) for one in around)


# -- a parameter that is on by default


def _switched_on(program: Program, devices: Devices) -> Iterator[Finding]:
    """`self.pin_memory = pin_memory` in a method that knows its device, with the parameter on by default somewhere."""
    for function in _parameters(program):
        for node in ast.walk(function):
            if (
                not isinstance(node, ast.Assign)
                or not isinstance(node.value, ast.Name)
                or node.value.id != "pin_memory"
            ):
                continue
            kept = dotted(node.targets[0])
            device = devices.first(node)
            if kept != "self.pin_memory" or device is None or not device.is_torch_device:
                continue
            edit = ReplaceExpression(program.source.span(node.value), f'__node__ and {device.text}.type != "cpu"')
            yield _found(
                program,
                node,
                f"`{kept}` stays on where `{device.text}` is the host: there is nothing to pin for",
                Fix(Safety.UNSAFE, "Pin only for devices other than the host", (edit,)),
            )


def _parameters(program: Program) -> list[scope.Function]:
    """Functions with a parameter `pin_memory` that is on by default."""
    return [
        node
        for node in ast.walk(program.tree)
        if isinstance(node, scope.Function) and "pin_memory" in scope.parameters(node) and _is_on(node)
    ]


def _is_on(function: scope.Function) -> bool:
    spec = function.args
    positional = [one.arg for one in (*spec.posonlyargs, *spec.args)]
    defaults: dict[str, ast.expr | None] = dict(zip(reversed(positional), reversed(spec.defaults)))
    defaults.update((one.arg, node) for one, node in zip(spec.kwonlyargs, spec.kw_defaults))
    return _is_true(defaults.get("pin_memory"))


# -- decisions


def _never_true(program: Program, devices: Devices) -> Iterator[Finding]:
    for statement in _decisions(program):
        for one in comparisons(program, devices, statement):
            text = text_of(program, one.device)
            fix = Fix(Safety.UNSAFE, f"Compare the type of `{text}`", (one.edit(program),))
            message = f"`{text}` is a `torch.device`, which equals no string: the comparison decides nothing"
            yield _found(program, one.node, message, fix)
        for node in ast.walk(statement):
            if isinstance(node, ast.Compare) and (device := _given_beside_text(program, node)) is not None:
                fix = Fix(Safety.UNSAFE, f"Compare the text of `{device.id}`", (_as_text(program, device),))
                message = (
                    f"`{device.id}` may be a `torch.device`, which equals no string: then this pins for every device"
                )
                yield _found(program, node, message, fix)


def _as_text(program: Program, node: ast.expr) -> Edit:
    return ReplaceExpression(program.source.span(node), "str(__node__)")


def _given_beside_text(program: Program, node: ast.Compare) -> ast.Name | None:
    """The parameter `device` of `other != device`, where `other` is a name for nothing but `"cpu"`."""
    function = scope.function_around(program, node)
    given = {one.arg: one for one in function.args.args} if function is not None else {}
    sides = [one for one in (node.left, *node.comparators) if isinstance(one, ast.Name)]
    if function is None or len(sides) != 2 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        return None
    for device, other in (sides, sides[::-1]):
        if device.id == "device" and "device" in given and given["device"].annotation is None:
            values = [
                one.value for one in ast.walk(function) if isinstance(one, ast.Assign) and other.id in scope.stored(one)
            ]
            if len(values) == 1 and isinstance(values[0], ast.Constant) and values[0].value == "cpu":
                return device
    return None


def _decisions(program: Program) -> Iterator[ast.expr]:
    """Expressions that say whether to pin: arguments and items called `pin_memory`, and names bound to it."""
    for node in ast.walk(program.tree):
        match node:
            case ast.keyword(arg=str(name), value=value) if "pin_memory" in name:
                yield value
            case ast.Assign(targets=[target], value=value) if "pin_memory" in ast.unparse(target):
                yield value
            case ast.Dict(keys=keys, values=values):
                yield from (v for k, v in zip(keys, values) if isinstance(k, ast.Constant) and k.value == "pin_memory")


# -- the argument


def _with_argument(program: Program, call: ast.Call) -> Iterator[Finding]:
    given = scope.given_to(call)
    last = (dotted(given[0]) or "").rpartition(".")[2]  # what is called to pin a tensor, is given that tensor
    if len(given) != 1 or "device" not in last.lower():
        return
    message = "the device of `pin_memory` is deprecated: memory is pinned for the accelerator that is there"
    if _serves_nothing_else(program, call, given[0]):
        advice = f"leave the device out, and say that `{ast.unparse(given[0])}` has no effect"
        yield _found(program, call, message, None, advice)
        return
    assert isinstance(call.func, ast.Attribute)
    receiver = program.source.segment(program.source.span(call.func))
    edit = ReplaceExpression(program.source.span(call), f"{receiver}()")
    yield _found(program, call, message, Fix(Safety.UNSAFE, "Leave the device out", (edit,), _ARGUMENT_DEPRECATED))


_ARGUMENT_DEPRECATED = (2, 5)
"""Before, `pin_memory()` pinned for CUDA alone (https://github.com/pytorch/pytorch/pull/126376)."""


def _serves_nothing_else(program: Program, call: ast.Call, device: ast.expr) -> bool:
    """Whether callers give the device for this alone: without it, their choice would be dropped in silence."""
    function = scope.function_around(program, call)
    if isinstance(device, ast.Name):
        given = function is not None and device.id in scope.parameters(function)
        return given and function is not None and len(list(scope.loads(function, {device.id}))) == 1
    owner = scope.class_around(program, call)
    init = scope.constructor(owner) if owner is not None else None
    if owner is None or init is None or not _is_of_constructor(init, dotted(device)):
        return False
    return sum(isinstance(one, ast.Attribute) and dotted(one) == dotted(device) for one in ast.walk(owner)) == _SET_READ


_SET_READ = 2
"""How often an attribute stands in its class that is set and read once."""


def _is_of_constructor(init: ast.FunctionDef, text: str | None) -> bool:
    """`self.device = device`, with a parameter."""
    given = set(scope.parameters(init))
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Name)
        and node.value.id in given
        and any(dotted(one) == text for one in node.targets)
        for node in ast.walk(init)
    )


RULE = Rule("DVF403", "pin-memory", ((b"pin_memory",),), check)
