"""Functions that run for tensors on CUDA alone: registered as its kernels, or called where that has been asked."""

import ast
import re

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._cuda_flags import says

_KEY = re.compile(r"(Autocast|Autograd|Sparse|Quantized)?(CUDA|cuda)")
"""A dispatch key or a device type for CUDA: `AutocastCUDA`, `cuda`."""

_ASKS = re.compile(r"cuda|gpu", re.IGNORECASE)


def is_for_cuda(program: Program, function: scope.Function) -> bool:
    """Whether a function is registered for CUDA, or all its calls in this file stand where CUDA has been asked for."""
    if any(_names_key(one) for one in function.decorator_list):
        return True
    uses = list(scope.loads(program.tree, {function.name}))
    if any(_is_registration(program, one) for one in uses):
        return True
    return bool(uses) and all(_is_called_for_cuda(program, one) for one in uses)


def _names_key(registration: ast.expr) -> bool:
    """`@torch.library.impl("lib::op", "CUDA")`, `@torch.library.custom_op("lib::op", device_types="cuda")`."""
    if not isinstance(registration, ast.Call):
        return False
    return any(isinstance(one, ast.Constant) and _is_key(one.value) for one in scope.given_to(registration))


def _is_key(value: object) -> bool:
    return isinstance(value, str) and _KEY.fullmatch(value) is not None


def _is_registration(program: Program, use: ast.Name) -> bool:
    """`library.impl("op", f, "CUDA")`, `register_kernel("op", "cuda", f)` and `impl("op", "CUDA")(f)`."""
    call = program.names.parent(use)
    if not isinstance(call, ast.Call) or use not in call.args:
        return False
    last = call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func) or ""
    return _names_key(call.func) or (("impl" in last or "register" in last) and _names_key(call))


def _is_called_for_cuda(program: Program, use: ast.Name) -> bool:
    """Whether a use is a call in the first branch of a question for CUDA."""
    call = program.names.parent(use)
    if not isinstance(call, ast.Call) or call.func is not use:
        return False
    inner: ast.AST = call
    for outer in program.names.ancestors(call):
        match outer:
            case ast.If(test=test, body=body) if inner in body and says(program, test, _ASKS):
                return True
            case ast.IfExp(test=test, body=body) if inner is body and says(program, test, _ASKS):
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return False
        inner = outer
    return False
