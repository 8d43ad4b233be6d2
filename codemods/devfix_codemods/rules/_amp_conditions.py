"""Autocast for CUDA that is on for whatever is no host: `autocast("cuda", enabled=device.type != "cpu")`."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules import _amp
from devfix_codemods.rules._amp_devices import Devices, Kind

_NARROWER = re.compile(r"cuda|mps|xpu|npu|is_available")
_KNOWN = re.compile(r"(?:cuda(?::\d*)?|cpu)$")


def type_asked_about(program: Program, devices: Devices, call: ast.Call) -> str | None:
    """`device.type`, where the one question is whether that is the host: `enabled=…`, or a test around the call."""
    found: set[str] = set()
    for one in _conditions(program, call):
        text = _other_than_host(program, devices, one, call)
        if text is not None:
            found.add(text)
        elif _NARROWER.search(ast.unparse(one)):
            return None
    return found.pop() if len(found) == 1 else None


def _conditions(program: Program, call: ast.Call) -> Iterator[ast.expr]:
    """What must hold for autocast to be on."""
    enabled = _amp.keyword(call, "enabled")
    if enabled is not None:
        yield from _parts(program, enabled.value, True)
    inner: ast.AST = call
    for outer in program.names.ancestors(call):
        if isinstance(outer, scope.Function):
            return
        if isinstance(outer, ast.If | ast.IfExp) and inner is not outer.test:
            first = outer.body if isinstance(outer.body, list) else [outer.body]
            yield from _parts(program, outer.test, inner in first)
        inner = outer


def _parts(program: Program, condition: ast.expr, wanted: bool) -> Iterator[ast.expr]:
    """The parts that must all hold, those behind a `not` as they are written with it."""
    condition = _looked_up(program, condition)
    match condition:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _parts(program, inner, not wanted)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And if wanted else ast.Or):
            for one in values:
                yield from _parts(program, one, wanted)
        case _:
            yield condition if wanted else ast.UnaryOp(ast.Not(), condition)


def _looked_up(program: Program, node: ast.expr) -> ast.expr:
    """The value of a name that its function, or the file, binds once."""
    if not isinstance(node, ast.Name):
        return node
    found = program.bindings.seen(node.id, node)
    values = [one.value for one in found if not isinstance(one.node, ast.arg)]
    return values[0] if len(found) == 1 and len(values) == 1 and values[0] is not None else node


def _other_than_host(program: Program, devices: Devices, part: ast.expr, call: ast.Call) -> str | None:
    """`device.type` of `device.type != "cpu"`, `not device.type == "cpu"` and `device != torch.device("cpu")`."""
    different: type[ast.cmpop] = ast.NotEq
    if isinstance(part, ast.UnaryOp):
        part, different = part.operand, ast.Eq
    if not isinstance(part, ast.Compare) or len(part.ops) != 1 or not isinstance(part.ops[0], different):
        return None
    asked, host = part.left, part.comparators[0]
    text = _type_of(program, devices, asked, host)
    device = asked.value if isinstance(asked, ast.Attribute) and asked.attr == "type" else asked
    if text is None or is_cuda_or_host(program, device) or not _is_same(program, device, call):
        return None
    return text


def _type_of(program: Program, devices: Devices, asked: ast.expr, host: ast.expr) -> str | None:
    """The text for the type of what is compared with the host."""
    text = dotted(asked)
    if text is None:
        return None
    if _amp.literal(host) == "cpu":
        is_type = isinstance(asked, ast.Attribute) and asked.attr == "type"
        return text if is_type or text.endswith("device_type") or devices.kind(asked) is Kind.TYPE else None
    is_host = (
        isinstance(host, ast.Call)
        and program.names.qualified(host.func) == "torch.device"
        and [_amp.literal(one) for one in scope.given_to(host)] == ["cpu"]
    )
    return f"{text}.type" if is_host and devices.kind(asked) is Kind.DEVICE else None


def is_cuda_or_host(program: Program, device: ast.expr) -> bool:
    """Whether the file chooses between CUDA and the host alone: then the literal says the same."""
    text = dotted(device) or ""
    if text.startswith("self."):
        around = program.bindings.class_of(device)
        found = program.bindings.of_class(around, text) if around is not None else []
    else:
        found = program.bindings.seen(text, device)
    return bool(found) and all(one.value is not None and _is_choice(program, one.value) for one in found)


def _is_choice(program: Program, value: ast.expr) -> bool:
    match value:
        case ast.IfExp(body=first, orelse=second):
            return _is_choice(program, first) and _is_choice(program, second)
        case ast.Call(args=[first, *_]) if program.names.qualified(value.func) == "torch.device":
            return _is_choice(program, first)
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return text == "cuda:"
        case ast.Constant(value=str(text)):
            return _KNOWN.match(text) is not None
    return False


def _is_same(program: Program, device: ast.expr, call: ast.Call) -> bool:
    """Whether the device is still what it was where the question was asked."""
    text = dotted(device)
    if text is None:
        return False
    return program.names.statement(device) is program.names.statement(call) or (
        program.bindings.owner(text, call) is program.bindings.owner(text, device)
        and not any(
            one.start > (device.lineno, device.col_offset)
            for one in program.bindings.of(program.bindings.scope(device), text)
        )
    )
