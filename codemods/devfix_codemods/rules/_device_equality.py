"""Comparisons of a `torch.device` that miss devices: `device == torch.device("cuda")` is False for `cuda:0`."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.flow.bindings import Binding
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._callers import arguments
from devfix_codemods.rules._comparisons import Comparison, asks_tensor_for_cuda, comparisons, is_of_tensor
from devfix_codemods.rules._device_values import sounds_like_device
from devfix_codemods.rules._devices import Devices

_COMPARES = re.compile(rb"[!=]=\s*(?:\w+\.)?device\(\s*[\"']\w+[\"']\s*\)|device\(\s*[\"']\w+[\"']\s*\)\s*[!=]=")
_COMPARES_TEXT = re.compile(
    rb"device\s*[!=]=\s*[\"'](?:cuda|cpu|mps|xpu|npu)\b|[\"'](?:cuda|cpu|mps|xpu|npu)[\"']\s*[!=]="
)
_GUARDS = re.compile(rb"\w\.device\s*[!=]=\s*[\"']cpu[\"']")
_TYPES = re.compile(r"(?:cuda|mps|xpu|npu)(?::\d+)?$|cpu$")
_NUMBERED = frozenset({"cuda", "xpu", "npu", "mlu", "musa", "mps"})
"""Types whose tensors say a number with their device, also where the device was asked for without one."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A comparison with `torch.device(kind)`; without edits where the other side may be a string."""

    node: ast.Compare
    device: ast.expr
    kind: str
    edits: tuple[Edit, ...]


def compared_without_number(program: Program) -> Iterator[Missed]:
    """`device == torch.device("cuda")`, of a device that may have a number."""
    if _COMPARES.search(program.source.data) is None:
        return
    devices = Devices(program)
    for node in ast.walk(program.tree):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            continue
        for device, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            literal = _literal(program, other)
            if literal is None or dotted(device) is None:
                continue
            of_tensor = isinstance(device, ast.Attribute) and device.attr == "device" and _is_tensor(program, device)
            if literal.value != "cuda" and not of_tensor:
                continue
            if of_tensor or (devices.is_torch_device(device) and _is_open(program, device)):
                text = program.source.segment(program.source.span(literal))
                type_of = ReplaceExpression(program.source.span(device), "__node__.type")
                edits = (type_of, ReplaceExpression(program.source.span(other), text))
                yield Missed(node, device, str(literal.value), edits)
            elif _is_given(program, device):
                yield Missed(node, device, str(literal.value), ())


def compared_with_text(program: Program) -> Iterator[Comparison]:
    """`self.device == "cpu"` of what is a `torch.device`, but for decisions to pin, which DVF403 repairs."""
    if _COMPARES_TEXT.search(program.source.data) is None:
        return
    told = set(asks_tensor_for_cuda(program))
    for one in comparisons(program, Devices(program), program.tree):
        statement = program.names.statement(one.node)
        pins = "pin_memory" in program.source.segment(program.source.span(statement))
        if one.node in told or pins or dotted(one.device) is None or not _TYPES.match(one.text):
            continue
        if not any(_is_given_text(program, each) for each in _parameters(program, one.device)):
            yield one


def guards_of_moves(program: Program) -> Iterator[ast.Attribute]:
    """`model.device` of `if model.device == "cpu": model.to(device)`: the guard of a move of that object."""
    if not guards_by_text(program.source.data):
        return
    devices = Devices(program)
    for node in ast.walk(program.tree):
        match node:
            case ast.If(test=test, body=body) | ast.IfExp(test=test, body=body):
                parts = body if isinstance(body, list) else [body]
            case _:
                continue
        for one in ast.walk(test):
            match one:
                case ast.Compare(
                    left=ast.Attribute(attr="device", value=owner) as device,
                    ops=[ast.Eq() | ast.NotEq()],
                    comparators=[ast.Constant(value="cpu")],
                ) if dotted(owner) not in {None, "self"} and not devices.is_torch_device(device):
                    if any(_is_move(each, dotted(owner)) for part in parts for each in ast.walk(part)):
                        yield device


def guards_by_text(data: bytes) -> bool:
    """The device of something is compared with the text of the host."""
    return _GUARDS.search(data) is not None


def _is_move(node: ast.AST, owner: str | None) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="to" | "cuda" | "cpu", value=moved)):
            return dotted(moved) == owner
    return False


def _parameters(program: Program, device: ast.expr) -> Iterator[ast.arg]:
    """The parameters that a name, or an attribute of `self`, keeps as they are."""
    for one in _bindings(program, device):
        if isinstance(one.node, ast.arg):
            yield one.node
        elif isinstance(one.value, ast.Name):
            yield from (each.node for each in _bindings(program, one.value) if isinstance(each.node, ast.arg))


def _is_given_text(program: Program, parameter: ast.arg) -> bool:
    """Whether some caller that is known gives a string, whatever the annotation says."""
    function = scope.function_around(program, parameter)
    given = arguments(program, function, parameter.arg) if function is not None else []
    return any(isinstance(one, ast.Constant | ast.IfExp | ast.JoinedStr) for _, one in given)


def _literal(program: Program, node: ast.expr) -> ast.Constant | None:
    """`"cuda"` of `torch.device("cuda")`."""
    if not isinstance(node, ast.Call) or program.names.qualified(node.func) != "torch.device":
        return None
    given = scope.given_to(node)
    literal = given[0] if len(given) == 1 else None
    return literal if isinstance(literal, ast.Constant) and literal.value in _NUMBERED else None


def _is_tensor(program: Program, device: ast.Attribute) -> bool:
    return is_of_tensor(program, device.value)


def _is_given(program: Program, device: ast.expr) -> bool:
    """A parameter as it is, which is called a device and may be text."""
    function = scope.function_around(program, device)
    if function is None or not isinstance(device, ast.Name) or not sounds_like_device(device.id):
        return False
    found = program.bindings.reaching(program.bindings.of(function, device.id), device)
    return bool(found) and all(isinstance(one.node, ast.arg) for one in found)


def _is_open(program: Program, device: ast.expr) -> bool:
    """Whether some binding of a device may give it a number: what a caller or an option says, where a tensor is."""
    return _may_number(program, device, frozenset())


def _may_number(program: Program, value: ast.expr, open_: frozenset[ast.expr]) -> bool:
    if value in open_:
        return False
    open_ |= {value}
    match value:
        case ast.IfExp(body=first, orelse=second):
            return any(_may_number(program, one, open_) for one in (first, second))
        case ast.BoolOp(values=values):
            return any(_may_number(program, one, open_) for one in values)
        case ast.Call() if program.names.qualified(value.func) == "torch.device":
            given = scope.given_to(value)
            return len(given) > 1 or any(_may_number(program, one, open_) for one in given)
        case ast.Constant(value=str(text)):
            return ":" in text
        case ast.JoinedStr() | ast.Subscript():
            return True
        case ast.Attribute() if dotted(value.value) not in {"self", "cls"}:
            return True
        case ast.Name() | ast.Attribute():
            return any(_is_open_binding(program, one, open_) for one in _bindings(program, value))
    return False


def _is_open_binding(program: Program, binding: Binding, open_: frozenset[ast.expr]) -> bool:
    if isinstance(binding.node, ast.arg):
        return True
    return binding.value is not None and _may_number(program, binding.value, open_)


def _bindings(program: Program, device: ast.expr) -> list[Binding]:
    """What gives a name, or an attribute of `self`, its value where it is read."""
    text, bindings = dotted(device) or "", program.bindings
    if text.startswith("self."):
        around = bindings.class_of(device)
        return bindings.of_class(around, text) if around is not None else []
    found, owner = bindings.seen(text, device), bindings.owner(text, device)
    return bindings.reaching(found, device) if owner is bindings.scope(device) else found
