"""Comparisons of a `torch.device` with a string, which never hold: `x.device == "cuda"`."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._amp import quoted
from devfix_codemods.rules._callers import arguments
from devfix_codemods.rules._device_values import sounds_like_device
from devfix_codemods.rules._devices import Devices
from devfix_codemods.scope import Function, annotation, class_around, function_around, parameters, stored

_GIVE_DEVICES = frozenset(
    {"ignite.distributed.device", "ignite.distributed.utils.device", "torch.get_default_device", "torch.device"}
)
"""Functions that return a `torch.device`."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`device` is a `torch.device` for certain, `text` the constant string beside it."""

    node: ast.Compare
    device: ast.expr
    text: str

    def edit(self, program: Program) -> Edit:
        """Compare the type, or with an index the text."""
        code = "str(__node__)" if ":" in self.text else "__node__.type"
        return ReplaceExpression(program.source.span(self.device), code)


def comparisons(program: Program, devices: Devices, inside: ast.AST) -> Iterator[Comparison]:
    """The comparisons inside an expression or a statement that can never hold."""
    for node in ast.walk(inside):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            continue
        sides = (node.left, node.comparators[0])
        for device, other in (sides, sides[::-1]):
            if (
                isinstance(other, ast.Constant)
                and isinstance(other.value, str)
                and _is_device(program, devices, device)
            ):
                yield Comparison(node, device, other.value)


def _is_device(program: Program, devices: Devices, node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and program.names.qualified(node.func) in _GIVE_DEVICES:
        return True
    return devices.is_torch_device(node)


def chain(program: Program, node: ast.Compare) -> Edit | None:
    """`a.device == b.device == "cuda"` as `a.device == b.device and a.is_cuda`."""
    first = node.left
    if (
        len(node.ops) < 2
        or not all(isinstance(one, ast.Eq) for one in node.ops)
        or not isinstance(first, ast.Attribute)
    ):
        return None
    devices = [program.source.segment(program.source.span(one)) for one in (first, *node.comparators[:-1])]
    code = f"{' == '.join(devices)} and {program.source.segment(program.source.span(first.value))}.is_cuda"
    return ReplaceExpression(program.source.span(node), code) if "\n" not in code else None


def asks_for_gpu(program: Program) -> Iterator[tuple[ast.Compare, Edit]]:
    """`lib.device == "gpu"`, `x.device.type == "gpu"`: torch gives no device this name.

    So it is of a name that holds nothing but `"cuda"` and `"cpu"`.
    """
    placed = _used_as_devices(program)
    for node in ast.walk(program.tree):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            continue
        text, other = dotted(node.left), node.comparators[0]
        if text is None or not isinstance(other, ast.Constant) or other.value != "gpu":
            continue
        if text.endswith(".device.type"):
            yield node, ReplaceExpression(program.source.span(other), '"cuda"')
        elif _is_cuda_or_host(program, node.left):
            yield node, ReplaceExpression(program.source.span(other), quoted(program.source, "cuda"))
        elif text in placed and program.names.qualified(node.left) is not None:
            negated = "not " if isinstance(node.ops[0], ast.NotEq) else ""
            yield node, ReplaceExpression(program.source.span(node), f'{negated}str({text}).startswith("cuda")')


def _is_cuda_or_host(program: Program, node: ast.expr) -> bool:
    """`device` of `device = "cuda" if … else "cpu"`, with no other value."""
    found = program.bindings.seen(node.id, node) if isinstance(node, ast.Name) else []
    if any(isinstance(one.node, ast.arg) for one in found):
        return False
    values = [part for one in found for part in _alternatives(one.value)]
    return {"cuda"} <= set(values) <= {"cuda", "cpu"}


def _alternatives(node: ast.expr | None) -> list[object]:
    """The constants that a conditional expression gives; None for anything else."""
    if isinstance(node, ast.IfExp):
        return [*_alternatives(node.body), *_alternatives(node.orelse)]
    return [node.value if isinstance(node, ast.Constant) else None]


def called_gpu(program: Program) -> Iterator[tuple[ast.Call, Edit]]:
    """`torch.device("gpu")`, `torch.device("gpu:%d" % card)`: torch knows no such device, and raises."""
    for call in program.names.calls:
        if program.names.qualified(call.func) != "torch.device" or not call.args:
            continue
        span = program.source.span(call.args[0])
        text = program.source.segment(span)
        if _GPU.match(text):
            yield call, ReplaceExpression(span, _GPU.sub(r"\1cuda", text, count=1))


_GPU = re.compile(r"""([fF]?["'])gpu(?=[:"'])""")


def _used_as_devices(program: Program) -> set[str]:
    """Dotted names that are moved to: `x.to(lib.device)`, `torch.zeros(3, device=lib.device)`."""
    given = [one.value for call in program.names.calls for one in call.keywords if one.arg == "device"]
    given += [
        call.args[0]
        for call in program.names.calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "to" and call.args
    ]
    return {text for one in given if (text := dotted(one)) is not None and "." in text}


def compares_with_cards(program: Program, device: ast.expr) -> bool:
    """Whether the function asks the text of a device for the number of a card too, or for how it begins."""
    text = ast.dump(device)
    for node in ast.walk(function_around(program, device) or program.tree):
        match node:
            case ast.Compare(left=left, ops=[*operators], comparators=[*others]) if text in map(
                ast.dump, (left, *others)
            ):
                start = "cuda" if any(isinstance(one, ast.In) for one in operators) else "cuda:"
                literals = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
                if any(isinstance(one, str) and one.startswith(start) for one in literals):
                    return True
            case ast.Call(func=ast.Attribute(value=value, attr="startswith" | "split")) if ast.dump(value) == text:
                return True
    return False


def searched(program: Program) -> Iterator[tuple[ast.Compare, ast.expr]]:
    """`"cuda" in device`, of what a caller gives and values are moved to: a `torch.device` cannot be searched."""
    moved = {
        text
        for call in program.names.calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "to" and call.args
        if (text := dotted(call.args[0])) is not None
    }
    for node in ast.walk(program.tree):
        match node:
            case ast.Compare(left=ast.Constant(value="cuda"), ops=[ast.In() | ast.NotIn()], comparators=[device]):
                text = dotted(device)
                if text is None or text not in moved or not sounds_like_device(text):
                    continue
                if _is_given(program, device, text):
                    yield node, device


def _is_given(program: Program, device: ast.expr, text: str) -> bool:
    """A parameter as it is, or an attribute that keeps one; nobody asks what it is, or makes a text of it."""
    function = function_around(program, device)
    around: ast.AST | None = class_around(program, device) if text.startswith("self.") else function
    if function is None or around is None:
        return False
    name = text.removeprefix("self.")
    if any(
        isinstance(node, ast.Call)
        and dotted(node.func) in {"isinstance", "str"}
        and any((dotted(one) or "").removeprefix("self.") == name for one in node.args)
        for node in ast.walk(around)
    ):
        return False
    given = [one.value for one in ast.walk(around) if isinstance(one, ast.Assign) and text in map(dotted, one.targets)]
    if not text.startswith("self."):
        return text in parameters(function) and not given and not _is_said_to_be_text(program, function, text)
    return bool(given) and all(_is_parameter(program, one) for one in given)


def _is_parameter(program: Program, node: ast.expr) -> bool:
    function = function_around(program, node)
    if function is None or not isinstance(node, ast.Name) or node.id not in parameters(function):
        return False
    if _is_said_to_be_text(program, function, node.id):
        return False
    return all(node.id not in stored(one) for one in function.body)


def _is_said_to_be_text(program: Program, function: Function, name: str) -> bool:
    """Whether a parameter is annotated as a text, and its known callers give no `torch.device`: there must be some."""
    said = annotation(function, name)
    if said is None or ast.unparse(said).strip("'\"") != "str":
        return False
    given = arguments(program, function, name)
    return bool(given) and not any(one is not None and Devices(where).is_torch_device(one) for where, one in given)


def asks_tensor_for_cuda(program: Program) -> Iterator[ast.Compare]:
    """`x.device == "cuda"`, also in a chain, where `x` is certainly a tensor: never true."""
    for node in ast.walk(program.tree):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[-1], (ast.Eq, ast.NotEq)):
            continue
        *devices, text = node.left, *node.comparators
        named = isinstance(text, ast.Constant) and text.value in {"cuda", "cuda:0"}
        asked = [one.value for one in devices if isinstance(one, ast.Attribute) and one.attr == "device"]
        if named and len(asked) == len(devices) and any(is_of_tensor(program, one) for one in asked):
            yield node


def is_of_tensor(program: Program, node: ast.expr) -> bool:
    """A parameter that is annotated as a tensor, or used as nothing else is."""
    function = function_around(program, node)
    if function is None or not isinstance(node, ast.Name):
        return False
    said = annotation(function, node.id)
    if said is not None:
        return ast.unparse(said) in {"Tensor", "torch.Tensor"}
    evidence = program.unit.evidence.get(function)
    return node.id in parameters(function) and evidence is not None and node.id in evidence.surely
