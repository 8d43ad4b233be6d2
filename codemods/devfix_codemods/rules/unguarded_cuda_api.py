"""A call of `torch.cuda` that needs CUDA, in code that runs without.

## What it does

Finds `torch.cuda.synchronize()`, `reset_peak_memory_stats()`, `get_rng_state()`, `current_device()` and
`torch.cuda.device(x.device)` where nothing asks whether CUDA is there, in code that otherwise provides for another
device, and guards them.

## Why it fails

These calls initialise CUDA. Where torch is built without it, or no driver is found, they raise

    AssertionError: Torch not compiled with CUDA enabled
    RuntimeError: Found no NVIDIA driver on your system.
    ValueError: Expected a cuda device, but got: cpu

`empty_cache`, `manual_seed`, `manual_seed_all`, `device_count`, `memory_allocated` and `max_memory_allocated` do
nothing without CUDA (torch/cuda/memory.py, random.py), and are left alone.

## Before

    loss.backward()
    torch.cuda.synchronize()

## After

    loss.backward()
    if torch.cuda.is_available():
        torch.cuda.synchronize()

## Fix safety

Safe: where CUDA is there nothing changes, and elsewhere the call raises today. Unsafe where the value of the call is
used, which then needs another one. Tests, benchmarks, files that import CUDA kernels or join cards, functions that need
CUDA or pinned memory anyway, and code that asks anywhere above are left alone; so is `torch.cuda.set_device`.

## Since torch

Any.
"""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.edits.operations import Edit, ReplaceExpression, ReplaceStatement
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._arguments import is_switched_on
from devfix_codemods.rules._cuda_only import is_cuda_only, is_guarded, is_test
from devfix_codemods.scope import class_around, function_around

_COMMANDS = frozenset({"synchronize", "reset_peak_memory_stats", "reset_max_memory_allocated", "ipc_collect"})
"""Calls that give nothing: without CUDA there is nothing to do."""

_STATES = {"get_rng_state": "set_rng_state"}
_KERNELS = re.compile(r"kernel|triton|_cuda\b|cutlass", re.IGNORECASE)
_COMMUNICATES = re.compile(r"nccl|nvshmem")
"""Libraries that join cards, and have no other machines."""
_ELSEWHERE = re.compile(r"^(device|devices|use_cuda|cuda|use_gpu|is_available|map_location|no_cuda|mps)$|_device$")


def check(program: Program) -> Iterator[Finding]:
    calls = [(one, name) for one in program.names.calls if (name := _api(program, one)) is not None]
    if not calls or is_cuda_only(program) or is_test(program) or _COMMUNICATES.search(program.source.text):
        return
    for call, name in calls:
        if not is_guarded(program, call) and not _needs_cuda_anyway(program, call):
            finding = _found(program, call, name)
            if finding is not None:
                yield finding


def _api(program: Program, call: ast.Call) -> str | None:
    """The part of a qualified name behind `torch.cuda.`."""
    name = program.names.qualified(call.func) or ""
    _, found, last = name.partition("torch.cuda.")
    return last.rpartition(".")[2] if found and name.startswith("torch.cuda.") else None


def _found(program: Program, call: ast.Call, name: str) -> Finding | None:
    statement = program.names.statement(call)
    if name in _COMMANDS and isinstance(statement, ast.Expr) and statement.value is call:
        return _command(program, call, statement) if _runs_elsewhere(program, call) else None
    if name in _STATES:
        return _state(program, call, statement, name)
    if name == "current_device" and isinstance(statement, ast.Assign) and statement.value is call:
        return _current_device(program, call, statement)
    if name == "device":
        return _device_of(program, call)
    return None


def _guard(program: Program, call: ast.Call) -> str | None:
    """`torch.cuda.is_available()` as this file spells `torch.cuda`."""
    if isinstance(call.func, ast.Attribute):
        return f"{dotted(call.func.value)}.is_available()"
    bound = any(
        isinstance(one, ast.Import) and any(alias.name == "torch" and not alias.asname for alias in one.names)
        for one in program.tree.body
    )
    return "torch.cuda.is_available()" if bound else None


def _needs_cuda_anyway(program: Program, call: ast.Call) -> bool:
    """Whether the same class or function does with CUDA what no guard around `call` would spare it."""
    around = class_around(program, call) or function_around(program, call)
    if around is None:
        return False
    function = function_around(program, call) or around
    return any(_pins(program, one) for one in ast.walk(function)) or any(
        isinstance(one, ast.Call)
        and _api(program, one) in _FAILING
        and not _is_alone(program, one)
        and not is_guarded(program, one)
        for one in ast.walk(around)
    )


def _pins(program: Program, node: ast.AST) -> bool:
    """`x.pin_memory()`, `torch.empty(n, pin_memory=True)`, which need an accelerator."""
    if not isinstance(node, ast.Call) or is_guarded(program, node):
        return False
    if any(isinstance(one, ast.If | ast.IfExp) for one in program.names.ancestors(node)):
        return False
    pinned = is_switched_on(node, "pin_memory")
    of_torch = (program.names.qualified(node.func) or "").startswith("torch.")
    by_method = isinstance(node.func, ast.Attribute) and node.func.attr == "pin_memory"
    return by_method or (pinned and of_torch and "DataLoader" not in ast.unparse(node.func))


_FAILING = frozenset(
    {"current_device", "current_stream", "default_stream", "stream", "Stream", "Event", "CUDAGraph", "graph"}
    | {"get_device_properties", "get_device_capability", "get_device_name", "mem_get_info", "set_device"}
)
"""What raises without CUDA, and stays as it is."""


def _is_alone(program: Program, call: ast.Call) -> bool:
    """`device = torch.cuda.current_device()`, which this rule repairs itself in a script."""
    statement = program.names.statement(call)
    return isinstance(statement, ast.Assign) and statement.value is call and function_around(program, call) is None


def _command(program: Program, call: ast.Call, statement: ast.stmt) -> Finding | None:
    guard = _guard(program, call)
    if guard is None:
        return None
    edits = (_wrapped(program, statement, guard),)
    return _finding(program, call, Fix(Safety.SAFE, "Ask whether CUDA is there first", edits))


def _wrapped(program: Program, statement: ast.stmt, guard: str) -> Edit:
    span = program.source.span(statement)
    return ReplaceStatement(span, f"if {guard}:\n    {program.source.segment(span)}")


def _runs_elsewhere(program: Program, node: ast.AST) -> bool:
    """Whether the function or class around `node` provides for a device that may be another, and nowhere for CUDA
    alone."""
    around = class_around(program, node) or function_around(program, node) or program.tree
    if _KERNELS.search(ast.unparse(around)):
        return False
    return provides_for_others(around) and not names_cuda_alone(program, around)


def provides_for_others(around: ast.AST) -> bool:
    """Whether code speaks of a device that is chosen elsewhere."""
    for node in ast.walk(around):
        match node:
            case ast.Attribute(attr="cuda", value=ast.Name(id="torch" | "th")):
                continue
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                if _ELSEWHERE.search(name):
                    return True
            case ast.Constant(value="cpu"):
                return True
    return False


def names_cuda_alone(program: Program, around: ast.AST) -> bool:
    """Whether code takes something to CUDA without asking."""
    for node in ast.walk(around):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        spelled = node.func.attr == "cuda" or any(
            isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.startswith("cuda")
            for one in (*node.args, *(key.value for key in node.keywords))
        )
        if spelled and not is_guarded(program, node):
            return True
    return False


def _state(program: Program, call: ast.Call, statement: ast.stmt, name: str) -> Finding | None:
    """The state of CUDA's generator, saved and, in the same file, given back."""
    target = _target(statement, call)
    guard = _guard(program, call)
    if target is None or guard is None or names_cuda_alone(program, function_around(program, call) or program.tree):
        return None
    restores = [one for one in _calls_with(program, _STATES[name], target) if not is_guarded(program, one)]
    readers = [one for one in _reads(program, call, target) if not any(one is arg for c in restores for arg in c.args)]
    statements = [program.names.statement(one) for one in restores]
    if readers or not all(isinstance(one, ast.Expr) for one in statements):
        return _finding(program, call, None)
    edits = tuple(_wrapped(program, one, guard) for one in (statement, *statements))
    return _finding(program, call, Fix(Safety.SAFE, "Save and restore it only where CUDA is there", edits))


def _target(statement: ast.stmt, call: ast.Call) -> str | None:
    if isinstance(statement, ast.Assign) and statement.value is call and len(statement.targets) == 1:
        return dotted(statement.targets[0])
    return None


def _calls_with(program: Program, name: str, target: str) -> list[ast.Call]:
    return [
        one for one in program.names.calls if _api(program, one) == name and one.args and dotted(one.args[0]) == target
    ]


def _reads(program: Program, call: ast.Call, target: str) -> Iterator[ast.expr]:
    """The reads of the target in its scope: the class for an attribute, the function for a name."""
    scope = class_around(program, call) if "." in target else function_around(program, call)
    for node in ast.walk(scope or program.tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load) and dotted(node) == target:
            yield node


def _current_device(program: Program, call: ast.Call, statement: ast.Assign) -> Finding | None:
    """`device = torch.cuda.current_device()` in a script."""
    target, guard = _target(statement, call), _guard(program, call)
    if target is None or guard is None or "device" not in target or function_around(program, call) is not None:
        return None
    edit = ReplaceExpression(program.source.span(call), f'__node__ if {guard} else "cpu"')
    return _finding(program, call, Fix(Safety.UNSAFE, "Fall back on the host where CUDA is not there", (edit,)))


def _device_of(program: Program, call: ast.Call) -> Finding | None:
    """`with torch.cuda.device(x.device):`, which refuses tensors on the host; `device_of(x)` does nothing for them."""
    argument = call.args[0] if len(call.args) == 1 and not call.keywords else None
    in_with = isinstance(program.names.parent(call), ast.withitem)
    if not in_with or not isinstance(argument, ast.Attribute) or argument.attr != "device":
        return None
    tensor = argument.value
    function = function_around(program, call)
    if not isinstance(tensor, ast.Name) or not isinstance(call.func, ast.Attribute) or function is None:
        return None
    if tensor.id in {"self", "model", "args"} or tensor.id not in {one.arg for one in function.args.args}:
        return None
    if _KERNELS.search(ast.unparse(function)):
        return None
    edits = (
        ReplaceExpression(program.source.span(call.func), f"{dotted(call.func.value)}.device_of"),
        ReplaceExpression(program.source.span(argument), program.source.segment(program.source.span(tensor))),
    )
    return _finding(program, call, Fix(Safety.SAFE, f"Follow `{tensor.id}`, wherever it is", edits))


def _finding(program: Program, call: ast.Call, fix: Fix | None) -> Finding:
    text = dotted(call.func) or "this call"
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{text}(…)` needs CUDA, but nothing here asks whether it is there",
        span=program.source.span(call),
        fix=fix,
        advice=None if fix else "ask `torch.cuda.is_available()` first",
    )


RULE = Rule(
    "DVF502",
    "unguarded-cuda-api",
    tuple(
        (b"cuda", word)
        for word in (
            b"synchronize(",
            b"reset_peak_memory_stats(",
            b"reset_max_memory_allocated(",
            b"ipc_collect(",
            b"get_rng_state(",
            b"current_device(",
            b"cuda.device(",
        )
    ),
    check,
)
