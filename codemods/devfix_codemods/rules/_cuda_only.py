"""Code that is meant for CUDA alone, or that asks first: there, naming CUDA is no bug."""

import ast
import re
from collections.abc import Iterator, Sequence

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._cuda_flags import compares_chosen, says
from devfix_codemods.scope import Function, block_of

_DEVICES = (
    r"cuda|gpu|device|torch\.accelerator|(?<![a-z])(?:hip|rocm|mps|cpu|xpu|npu|trt)(?![a-z])|nccl|triton|tensorrt"
    r"|is_available"
)
_ASKS = re.compile(_DEVICES, re.IGNORECASE)
_ASKS_ROUNDABOUT = re.compile(
    rf"{_DEVICES}|distributed|\bdist\.|(?<![a-z])(?:ddp|amp|fp16|float16|half|bf16|fp8|apex)(?![a-z])", re.IGNORECASE
)
"""What conditions say that hold only where CUDA is; in the callers of a function, only the plain words count."""

_MEANT = re.compile(
    r"cuda|gpu|nccl|triton|bench|profil|latency|tensorrt|(?<![a-z])trt(?![a-z])|graph_capture", re.IGNORECASE
)
_SKIPS = re.compile(r"cuda|gpu|skip|device|accelerator|triton|numba", re.IGNORECASE)
_TESTS = re.compile(
    r"(^|/)(tests?|testing|benchmarks?|bench)/|(^|/)(test_|bench|conftest)[^/]*$|_(test|tests|bench)\.py$"
)
_TEST_PACKAGES = frozenset({"pytest", "unittest", "parameterized"})


def is_test(program: Program) -> bool:
    """A test or a benchmark: who runs it chose the machine."""
    return _TESTS.search(program.source.path.replace("\\", "/")) is not None or any(
        name.partition(".")[0] in _TEST_PACKAGES or name == "torch.utils.benchmark" for name in _imported(program.tree)
    )


def _imported(tree: ast.Module) -> Iterator[str]:
    """What the file cannot do without: imports at its top, outside of `try` and `if`."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or ''}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


_CALLERS = 2
"""How far up the callers of a function are asked."""


def is_guarded(program: Program, node: ast.AST, depth: int = _CALLERS) -> bool:
    """Whether the code around `node` asks for CUDA before, or says by its name that it is about CUDA.

    Either branch of a condition that speaks of devices counts; so does an exit above, a `try` that catches, and that
    all callers of the function in this file ask.
    """
    inner = node
    called = False
    asks = _ASKS_ROUNDABOUT if depth == _CALLERS else _ASKS
    for outer in program.names.ancestors(node):
        if (
            (not called and _catches(outer, inner))
            or _asks(program, outer, inner, asks)
            or (isinstance(inner, ast.stmt) and _exits_before(program, inner, asks))
        ):
            return True
        if isinstance(outer, ast.ClassDef) and _MEANT.search(outer.name):
            return True
        if isinstance(outer, Function):
            if _MEANT.search(outer.name) or any(_SKIPS.search(ast.unparse(one)) for one in outer.decorator_list):
                return True
            if depth and _callers_ask(program, outer, depth):
                return True
            called = True
        inner = outer
    return False


def _asks(program: Program, outer: ast.AST, inner: ast.AST, words: re.Pattern[str]) -> bool:
    tests: list[ast.expr] = []
    match outer:
        case ast.IfExp(body=body, orelse=other) if inner in (body, other) and _takes_to_host(
            other if inner is body else body
        ):
            return True
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            tests = [test] if test is not inner else []
        case ast.BoolOp(values=values):
            tests = values[: values.index(inner)] if inner in values else []
        case ast.match_case():
            return True
        case ast.ListComp(generators=parts) | ast.GeneratorExp(generators=parts):
            tests = _filters(parts)
        case ast.For(iter=items) if inner is not items:
            tests = _filters_of(program, items)
    return any(says(program, one, words) or compares_chosen(program, one, words) for one in tests)


def _filters(parts: Sequence[ast.comprehension]) -> list[ast.expr]:
    return [test for part in parts for test in part.ifs]


def _filters_of(program: Program, items: ast.expr) -> list[ast.expr]:
    """What holds for all that a loop goes over: `{one.device for one in parts if one.device.type == "cuda"}`."""
    around = scope.function_around(program, items) or program.tree
    made = scope.given_last(around, items.id, items.lineno) if isinstance(items, ast.Name) else items
    return _filters(made.generators) if isinstance(made, ast.ListComp | ast.SetComp | ast.GeneratorExp) else []


def _takes_to_host(node: ast.expr) -> bool:
    """`x.numpy()`, `x.cpu()`: where the other branch takes the value to CUDA, the condition chooses between the two."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in {"numpy", "cpu"}:
            return True
        node = node.func.value
    return False


def _catches(outer: ast.AST, inner: ast.AST) -> bool:
    """A `try` that lives with the error, a test that wants it."""
    match outer:
        case ast.Try(body=body, handlers=handlers):
            return bool(handlers) and inner in body
        case ast.With(items=items):
            return any("aises" in ast.unparse(one.context_expr) for one in items)
    return False


def _exits_before(program: Program, statement: ast.stmt, words: re.Pattern[str]) -> bool:
    """`assert torch.cuda.is_available()`, `if device == "cpu": return` above in the same block."""
    for one in block_of(program, statement):
        if one is statement:
            return False
        if isinstance(one, ast.Assert) or (isinstance(one, ast.If) and _leaves(one)):
            partly = isinstance(one.test, ast.BoolOp) and isinstance(one.test.op, ast.And)
            if (isinstance(one, ast.Assert) or not partly) and says(program, one.test, words):
                return True
        if _chooses_cuda(program, one):
            return True
    return False


def _leaves(node: ast.If) -> bool:
    last = node.body[-1]
    if scope.leaves(node.body):
        return True
    call = last.value if isinstance(last, ast.Expr) else None
    return isinstance(call, ast.Call) and (dotted(call.func) or "").rpartition(".")[2] in {"exit", "_exit", "skip"}


def _chooses_cuda(program: Program, statement: ast.stmt) -> bool:
    """`torch.cuda.set_device(rank)`, `init_process_group("nccl")`: what follows needs CUDA anyway."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    name = program.names.qualified(call.func) or dotted(call.func) or ""
    text = ast.unparse(call)
    return name.endswith("cuda.set_device") or (name.endswith("init_process_group") and "nccl" in text)


def _callers_ask(program: Program, function: ast.FunctionDef | ast.AsyncFunctionDef, depth: int) -> bool:
    calls = [
        one
        for one in program.names.calls
        if (isinstance(one.func, ast.Name) and one.func.id == function.name)
        or (isinstance(one.func, ast.Attribute) and one.func.attr == function.name)
    ]
    return bool(calls) and all(is_guarded(program, one, depth - 1) for one in calls)
