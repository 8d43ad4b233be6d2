"""Autocast that is hard-wired to CUDA in a function whose data says where it lives."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.program import Program
from devfix_codemods.rules import _amp
from devfix_codemods.rules._amp_conditions import type_asked_about
from devfix_codemods.rules._amp_devices import Devices
from devfix_codemods.rules._conversions import converted
from devfix_codemods.rules._cuda_registered import is_for_cuda

_MINDS = re.compile(r"cuda|mps|device|is_cpu|is_xpu")
"""What code says that has thought of other devices."""


def wired_type(program: Program, devices: Devices, call: ast.Call) -> ReplaceExpression | None:
    """The type of the data, or of the device that is asked about, for the `"cuda"` of `torch.autocast("cuda", …)`."""
    device = _amp.device_argument(call)
    if device is None or _amp.literal(device) != "cuda":
        return None
    if (asked := type_asked_about(program, devices, call)) is not None:
        return ReplaceExpression(program.source.span(device), asked)
    if not isinstance(program.names.parent(call), ast.withitem):
        return None
    function = scope.function_around(program, call)
    tensor = devices.bound_tensor(call)
    if function is None or tensor is None or _may_be_none(function, tensor) or _is_minded(program, call, device):
        return None
    if is_for_cuda(program, function):
        return None
    return ReplaceExpression(program.source.span(device), f"{tensor}.device.type")


def computes_for_numpy(program: Program, devices: Devices, call: ast.Call) -> bool:
    """Whether numpy reads tensors of any type, here or where this is imported, and the host was not left out before.

    It has no bfloat16, in which autocast computes on the host, where autocast for CUDA does nothing.
    """
    if type_asked_about(program, devices, call) is not None:
        return False
    conversions = (converted(call) for one in (program, *program.importing) for call in one.names.calls)
    return any(one is not None and _EXACT.isdisjoint(_methods(one)) for one in conversions)


_EXACT = frozenset({"float", "double", "long", "int", "bool", "argmax", "argmin", "argsort", "topk", "to", "type"})
"""Methods that say what type a tensor has from there on, or give indices."""


def _methods(node: ast.expr) -> set[str]:
    """The names of the attributes in a chain: `x.detach().float()`."""
    return {one.attr for one in scope.chain(node) if isinstance(one, ast.Attribute)}


def decorates_forward(program: Program, call: ast.Call) -> bool:
    """Whether `@torch.autocast("cuda", dtype=torch.float32)` keeps a `forward` in full precision, on CUDA alone."""
    owner = program.names.parent(call)
    if not isinstance(owner, ast.FunctionDef) or call not in owner.decorator_list or owner.name != "forward":
        return False
    device, dtype = _amp.device_argument(call), _amp.keyword(call, "dtype")
    is_full = dtype is not None and program.names.qualified(dtype.value) in {"torch.float32", "torch.float"}
    return is_full and _amp.literal(device) == "cuda" and isinstance(program.names.parent(owner), ast.ClassDef)


def _may_be_none(function: scope.Function, name: str) -> bool:
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args]
    with_default = positional[len(positional) - len(spec.defaults) :]
    return any(one.arg == name for one in with_default)


def _is_minded(program: Program, call: ast.Call, device: ast.expr) -> bool:
    """Whether another argument, another item of the `with`, or a test around the call speaks of devices."""
    return any(_MINDS.search(ast.unparse(one)) for one in _beside(program, call, device))


def _beside(program: Program, call: ast.Call, device: ast.expr) -> Iterator[ast.expr]:
    yield from (one for one in call.args if one is not device)
    yield from (one.value for one in call.keywords if one.value is not device)
    for outer in program.names.ancestors(call):
        if isinstance(outer, ast.With):
            yield from (one.context_expr for one in outer.items if one.context_expr is not call)
        elif isinstance(outer, ast.If | ast.IfExp):
            yield outer.test
        elif isinstance(outer, scope.Function):
            return
