"""Calls of `torch.cuda` that raise without CUDA, where no test asks whether it is there."""

import ast
import re
from collections.abc import Iterator
from textwrap import indent

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.availability_tests import is_guarded
from devfix_codemods.assumptions.comparisons import Comparisons
from devfix_codemods.assumptions.index import Index, called, method, unindented
from devfix_codemods.catalogue import Effect, Kind, canonical, effect
from devfix_codemods.edits.operations import Edit, ReplaceExpression, ReplaceStatement
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.arguments import keyword
from devfix_codemods.repairs.conditions import is_accelerator
from devfix_codemods.repairs.declared_devices import binds_torch

_COMMANDS = frozenset({"synchronize", "reset_peak_memory_stats", "reset_max_memory_allocated", "ipc_collect"})
"""Functions that return nothing, and have nothing to do without CUDA: a guard is all that their calls need."""
_FAILING = frozenset(
    {"current_device", "current_stream", "default_stream", "stream", "Stream", "Event", "CUDAGraph", "graph"}
    | {"get_device_properties", "get_device_capability", "get_device_name", "mem_get_info", "set_device"}
)
"""Functions that raise without CUDA, and for whose results the host has none that could stand in."""
_EMPTY = frozenset({"memory_stats", "memory_stats_as_nested_dict", "default_generators"})
"""What is empty without CUDA: a part of it that is read by its name or number is missing there."""
_KERNELS = re.compile(r"kernel|triton|_cuda\b|cutlass", re.IGNORECASE)
"""Words of code around kernels of CUDA, which runs nowhere else: a guard would help nobody."""
_COMMUNICATES = re.compile(r"nccl|nvshmem")
"""Libraries that connect GPUs. A file that speaks of them needs CUDA as a whole."""
_CHOOSES_DEVICE = re.compile(r"^(device|devices|use_cuda|cuda|use_gpu|is_available|map_location|no_cuda|mps)$|_device$")


def unguarded_calls(index: Index) -> Iterator[Answer]:
    """The calls that a guard would repair, or that need more than a guard, which a person has to decide."""
    if _COMMUNICATES.search(index.source.text):
        return
    for call in index.calls:
        api = _api(call)
        if api is not None and not is_guarded(index, call) and not _needs_cuda_anyway(index, call):
            found = _found(index, call, api)
            if found is not None:
                yield found


def _api(call: Node) -> str | None:
    """`synchronize` of a call of `torch.cuda.synchronize`; None for calls of anything else."""
    qualified = name(call.args[0]) or ""
    return qualified.rpartition(".")[2] if qualified.startswith("torch.cuda.") else None


def _found(index: Index, call: Node, api: str) -> Answer | None:
    """The finding about an unguarded call, by the function that it calls; None where no guard would help."""
    statement = call.statement
    whole = statement is not None and getattr(statement, "value", None) is call.syntax
    if api in _COMMANDS and whole and isinstance(statement, ast.Expr):
        if not _runs_elsewhere(index, call):
            return None
        device, guard = _device_asked(index, call), _guard(index, call)
        if device is not None:
            title, guard = f"Check first that `{device}` is a CUDA device", f'{device}.type == "cuda"'
        else:
            title = "Check first that CUDA is available"
        return _answer(call, Fix(Safety.SAFE, title, (_guarded(index, statement, guard),))) if guard else None
    if api == "get_rng_state" and whole and isinstance(statement, ast.Assign):
        return _generator_state(index, call, statement)
    if api == "current_device" and whole and isinstance(statement, ast.Assign):
        return _current_device(index, call, statement)
    return _device_of(index, call) if api == "device" else None


def _device_asked(index: Index, call: Node) -> str | None:
    """The name of the one `torch.device` that a call gets, which may be the host where CUDA is available, too."""
    match call.syntax:
        case ast.Call(args=[ast.Name() | ast.Attribute() as written], keywords=[]):
            device = call.args[1]
            is_chosen = Comparisons(index).is_device(device) and not is_accelerator(index.analysis, device)
            return index.text(written) if is_chosen else None
    return None


def _guard(index: Index, call: Node) -> str | None:
    """`torch.cuda.is_available()` as this file spells `torch.cuda`; None where the file has no name for it."""
    assert isinstance(call.syntax, ast.Call)
    if isinstance(call.syntax.func, ast.Attribute):
        return f"{ast.unparse(call.syntax.func.value)}.is_available()"
    return "torch.cuda.is_available()" if binds_torch(index.analysis.module.tree) else None


def _guarded(index: Index, statement: ast.stmt, guard: str) -> Edit:
    span = index.source.span(statement)
    text = unindented(index.source.segment(span), statement)
    return ReplaceStatement(span, f"if {guard}:\n{indent(text, '    ')}")


# What the code around the call needs, and on which devices it is meant to run


def _around(call: Node) -> list[Function]:
    """What a call is judged with: all methods of its class; outside of a class its function, or the script itself."""
    owner = call.function.owner
    return (
        [one for one in call.function.module.functions if one.owner is owner] if owner is not None else [call.function]
    )


def _needs_cuda_anyway(index: Index, call: Node) -> bool:
    """Whether the class or the function fails without CUDA in other places too, where this guard would not help."""
    if call.function.parent is None:
        return False
    if any(_pins(index, one) for one in call.function.nodes if one.op is Op.CALL):
        return True
    others = (one for each in _around(call) for one in each.nodes if _is_missing_elsewhere(one))
    return any(not is_guarded(index, one) for one in others)


def _is_missing_elsewhere(node: Node) -> bool:
    """Whether a value is one that cannot be had without CUDA."""
    if node.op is Op.ITEM:
        kept = node.args[0].args[0] if node.args[0].op is Op.CALL else node.args[0]
        qualified = name(kept) or ""
        return qualified.startswith("torch.cuda.") and qualified.rpartition(".")[2] in _EMPTY
    return node.op is Op.CALL and _api(node) in _FAILING


def _pins(index: Index, call: Node) -> bool:
    """`x.pin_memory()`, `torch.empty(n, pin_memory=True)`, which need an accelerator."""
    if call.guard:
        return False  # under a condition, which may hold only where there is one
    pinned = keyword(call, "pin_memory")
    makes = effect(canonical(name(call.args[0]) or "")) in {Effect.FACTORY, Effect.CONVERSION, Effect.LIKE}
    return method(call) == "pin_memory" or (makes and pinned is not None and pinned.extra is True)


def _runs_elsewhere(index: Index, call: Node) -> bool:
    """Whether the code around is meant for other devices too: one is chosen elsewhere, and nothing needs CUDA."""
    owner = call.function.owner
    around = owner.syntax if owner is not None else call.function.syntax
    if _KERNELS.search(ast.unparse(around)) or not _provides_for_others(around):
        return False
    return not any(_names_cuda_alone(index, one) for one in _around(call))


def _provides_for_others(around: ast.AST) -> bool:
    """Whether code names a device that is chosen elsewhere, or the host."""
    for node in ast.walk(around):
        match node:
            case ast.Attribute(attr="cuda", value=ast.Name(id="torch" | "th")):
                continue  # the module `torch.cuda`, and no choice
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.arg(arg=text) | ast.keyword(arg=str(text)):
                if _CHOOSES_DEVICE.search(text):
                    return True
            case ast.Constant(value="cpu"):
                return True
    return False


def _names_cuda_alone(index: Index, function: Function) -> bool:
    """Whether a function moves something to CUDA, or makes it there, without asking whether it is there."""
    for call in function.nodes:
        if call.op is not Op.CALL or is_guarded(index, call):
            continue
        constants = (one.extra for one in call.args[1:] if one.op is Op.CONST)
        is_written = any(isinstance(one, str) and one.startswith("cuda") for one in constants)
        place = index.analysis.births.place_given(call)
        is_named = place is not None and place.node is not None and is_accelerator(index.analysis, place.node)
        if method(call) == "cuda" or is_written or is_named:
            return True
    return False


# The state of the generator, the current device, the device of a tensor


def _generator_state(index: Index, call: Node, statement: ast.Assign) -> Answer | None:
    """The state of CUDA's random generator, which is saved here. The fix guards that, and all that restores it."""
    guard = _guard(index, call)
    if guard is None or _names_cuda_alone(index, call.function):
        return None
    targets = {ast.unparse(one) for one in statement.targets}
    owner = call.function.owner
    scope = owner.syntax if owner is not None and "." in "".join(targets) else call.function.syntax
    inside = set(ast.walk(scope))  # elsewhere the name is another state's
    restores = [one for one in index.calls if called(one, "torch.cuda.set_rng_state") and _restores(one, targets)]
    restores = [one for one in restores if one.syntax in inside and not is_guarded(index, one)]
    loads = (one for one in inside if isinstance(one, ast.Name | ast.Attribute) and isinstance(one.ctx, ast.Load))
    reads = [one for one in loads if ast.unparse(one) in targets]
    statements = [one.statement for one in restores if isinstance(one.statement, ast.Expr)]
    if len(reads) > len(restores) or len(statements) < len(restores):
        return _answer(call, None)  # something else reads the state, which the guard would leave unset
    edits = tuple(_guarded(index, one, guard) for one in (statement, *statements))
    return _answer(call, Fix(Safety.SAFE, "Save and restore it only where CUDA is available", edits))


def _restores(call: Node, targets: set[str]) -> bool:
    """Whether a call gets what one of `targets` names: `torch.cuda.set_rng_state(state)`."""
    assert isinstance(call.syntax, ast.Call)
    return any(ast.unparse(one) in targets for one in call.syntax.args[:1])


def _current_device(index: Index, call: Node, statement: ast.Assign) -> Answer | None:
    """`device = torch.cuda.current_device()` at the top of a script: its name says that it is used as a device."""
    guard = _guard(index, call)
    if guard is None or call.function.parent is not None or "device" not in ast.unparse(statement.targets[0]):
        return None
    edit = ReplaceExpression(index.source.span(statement.value), f'__node__ if {guard} else "cpu"')
    return _answer(call, Fix(Safety.UNSAFE, "Fall back to the host where CUDA is not available", (edit,)))


def _device_of(index: Index, call: Node) -> Answer | None:
    """`with torch.cuda.device(x.device):`, which refuses tensors on the host; `device_of(x)` does nothing for them."""
    syntax = call.syntax
    assert isinstance(syntax, ast.Call)
    if not isinstance(index.parents.get(syntax), ast.withitem) or _KERNELS.search(ast.unparse(call.function.syntax)):
        return None
    match syntax:
        case ast.Call(
            func=ast.Attribute() as written,
            args=[ast.Attribute(attr="device", value=ast.Name(id=tensor) as base) as argument],
            keywords=[],
        ):
            parameter = call.function.parameters.get(tensor)
            if parameter is None or parameter is call.function.self_node or tensor in {"model", "args"}:
                return None  # it may have a device and be no tensor, which `device_of` needs
            value = call.args[1].args[0]
            kind = index.analysis.kinds.of(value)
            if kind not in {Kind.TENSOR, None}:
                return _answer(call, None)
            safety = Safety.SAFE if kind is Kind.TENSOR or _has_elements(index, value) else Safety.UNSAFE
            edits = (
                ReplaceExpression(index.source.span(written), f"{ast.unparse(written.value)}.device_of"),
                ReplaceExpression(index.source.span(argument), index.text(base)),
            )
            return _answer(call, Fix(safety, f"Follow `{tensor}`, wherever it is", edits))
    return None


def _has_elements(index: Index, value: Node) -> bool:
    """Whether what has a device is computed with, or is an input of a module: no model is."""
    is_input = value.function.name == "forward" and value.function.owner in index.analysis.kinds.module_classes
    return (is_input and value.op is Op.PARAM) or any(one.op is Op.OPERATION for one in index.users[value])


def _answer(call: Node, fix: Fix | None) -> Answer:
    assert isinstance(call.syntax, ast.Call)
    text = ast.unparse(call.syntax.func)
    message = f"`{text}(…)` needs CUDA, but nothing here checks that CUDA is available"
    return Answer(call.syntax, message, fix, None if fix else "ask `torch.cuda.is_available()` first")
