"""What the bindings of a name give it: a device, the host by name, None, or something else."""

import ast
import re
from collections.abc import Iterator
from enum import Enum
from functools import cached_property

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.project.bindings import Binding, Scope
from devfix_codemods.project.tree import dotted

_ACCELERATOR = re.compile(r"(?:cuda|mps|xpu|npu|hpu|mlu|musa|xla|vulkan|hip)(?::\d*)?$")
_DEVICE_NAMES = frozenset({"device", "torch_device", "target_device", "model_device", "compute_device"})
_GIVES_DEVICE = re.compile(
    r"(?:_?(?:get|select|choose|pick|find|detect|infer|resolve|auto|default|define|setup|set_up|init|prepare|best|determine"
    r"|guess|make|torch|parse|auto_select|execution|available)_(?:\w+_)?)?device$"
)
_CONTAINER = re.compile(r"(?:typing\.)?(?:list|List|tuple|Tuple|dict|Dict|Sequence|Iterable|Callable|Type|type)\[")


class Verdict(Enum):
    DEVICE = "a device"
    HOST = "the host by name"
    NONE = "None"
    LEFT_OUT = "None where a caller, or an option, says nothing"
    OTHER = "something else, or unknown"


EMPTY = frozenset({Verdict.NONE, Verdict.LEFT_OUT})


class DeviceValues:
    """What names and expressions of one file hold, as far as devices go."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names = program.names
        self._bindings = program.bindings
        self._open: set[int] = set()

    def verdicts(self, owner: Scope, key: str, at: ast.AST) -> frozenset[Verdict]:
        """What the bindings that reach `at` give, but for those that are being asked for already."""
        found = self._bindings.of(owner, key)
        if owner is self._bindings.scope(at):
            found = self._bindings.reaching(found, at)
        verdicts = frozenset[Verdict]().union(*(self._once(one, key) for one in found))
        return verdicts - EMPTY if self._is_settled(found, key, at) else verdicts

    def _once(self, binding: Binding, key: str) -> set[Verdict]:
        if id(binding) in self._open:
            return set()
        self._open.add(id(binding))
        try:
            return self.given(binding, key)
        finally:
            self._open.discard(id(binding))

    def _is_settled(self, found: list[Binding], key: str, at: ast.AST) -> bool:
        """`if device is None: device = …` stands above: the name is None no more."""
        guards = [self._names.parent(one.node) for one in found if isinstance(one.node, ast.stmt)]
        return any(
            isinstance(guard, ast.If)
            and _asks_for_none(guard.test, key)
            and self._bindings.dominates(Binding(guard), at)
            for guard in guards
        )

    def given(self, binding: Binding, key: str) -> set[Verdict]:
        """What one binding gives, by its annotation, its value, and what the name says."""
        named = sounds_like_device(key)
        annotated = self._annotated(binding.annotation)
        if isinstance(binding.node, ast.arg):
            return self._parameter(binding, key, named, annotated)
        if isinstance(binding.node, (ast.Import, ast.ImportFrom)):
            used = named and isinstance(binding.node, ast.ImportFrom) and self.is_used(key, binding.node)
            return {Verdict.DEVICE if used else Verdict.OTHER}
        value = self._value(binding.value) if binding.value is not None else {Verdict.OTHER}
        if Verdict.OTHER in value and annotated is True:
            return {Verdict.DEVICE}
        if Verdict.OTHER in value and named and _may_give_device(binding.value) and self.is_used(key, binding.node):
            return value - {Verdict.OTHER} | {Verdict.DEVICE}
        return value

    def _parameter(self, binding: Binding, key: str, named: bool, annotated: bool | None) -> set[Verdict]:
        default = self._value(binding.value) if binding.value is not None else set()
        short = key == "dev" and self.is_used(key, binding.node)
        if annotated is False or (annotated is None and not named and not short) or default == {Verdict.OTHER}:
            return {Verdict.OTHER}
        return {Verdict.DEVICE, Verdict.LEFT_OUT} if Verdict.NONE in default else {Verdict.DEVICE}

    def _annotated(self, annotation: ast.expr | None) -> bool | None:
        """Whether an annotation says device; None where it says nothing or leaves it open."""
        if annotation is None:
            return None
        text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
        if not isinstance(text, str):
            return None
        if re.search(r"\b(?:torch\.device|Device|DeviceLikeType|device)\b", text) and not _CONTAINER.match(text):
            return True
        return None if re.search(r"\b(?:str|Any|Optional)\b", text) and not _CONTAINER.match(text) else False

    def _value(self, node: ast.expr) -> set[Verdict]:
        """What an expression evaluates to."""
        match node:
            case ast.Constant(value=None):
                return {Verdict.NONE}
            case ast.Constant(value=str(text)):
                return {_of_text(text)}
            case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
                return {_of_text(text)}
            case ast.IfExp(body=first, orelse=second):
                return self._value(first) | self._value(second)
            case ast.BoolOp(op=ast.Or(), values=[*values, last]):
                options = set[Verdict]().union(*(self._value(one) for one in values))
                return options - EMPTY | self._value(last)
            case ast.Call():
                return self._call(node)
            case ast.Subscript(slice=ast.Constant(value="device")):
                return {Verdict.DEVICE}
            case ast.Name() | ast.Attribute():
                return self._reference(node)
        return {Verdict.OTHER}

    def _call(self, node: ast.Call) -> set[Verdict]:
        qualified = self._names.qualified(node.func)
        if qualified == "torch.device":
            host = len(node.args) == 1 and self._value(node.args[0]) == {Verdict.HOST}
            return {Verdict.HOST if host else Verdict.DEVICE}
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"get", "pop"} and node.args:
            is_device = isinstance(node.args[0], ast.Constant) and node.args[0].value == "device"
            return (
                {Verdict.DEVICE, *(set() if len(node.args) > 1 else {Verdict.LEFT_OUT})}
                if is_device
                else {Verdict.OTHER}
            )
        name = (dotted(node.func) or "").rpartition(".")[2]
        plain = isinstance(node.func, ast.Name) or qualified is not None or (dotted(node.func) or "").count(".") == 1
        own = name != "get_device" or isinstance(node.func, ast.Name) or qualified is not None
        return {Verdict.DEVICE if plain and own and _GIVES_DEVICE.match(name) else Verdict.OTHER}

    def _reference(self, node: ast.Name | ast.Attribute) -> set[Verdict]:
        text = dotted(node)
        owner = self._bindings.owner(text, node) if text is not None else None
        if owner is not None and text is not None:
            return set(self.verdicts(owner, text, node)) or {Verdict.OTHER}
        last = node.attr if isinstance(node, ast.Attribute) else node.id
        return {Verdict.DEVICE if isinstance(node, ast.Attribute) and sounds_like_device(last) else Verdict.OTHER}

    @cached_property
    def uses(self) -> dict[str, list[ast.expr]]:
        """Dotted names by where the file gives them to `.to(…)`, `device=`, `torch.device(…)` or `map_location=`."""
        found: dict[str, list[ast.expr]] = {}
        for call in self._names.calls:
            for one in device_arguments(self._program, call):
                text = dotted(one)
                if text is not None:
                    found.setdefault(text, []).append(one)
        for node in ast.walk(self._program.tree):
            named = isinstance(node, ast.Assign) and any(sounds_like_device(dotted(one) or "") for one in node.targets)
            if isinstance(node, ast.Assign) and named:
                text = dotted(node.value)
                if text is not None and sounds_like_device(text):
                    found.setdefault(text, []).append(node.value)
        return found

    def is_used(self, key: str, binding: ast.AST) -> bool:
        """Whether the file uses `key` as a device in the scope, or the class, of its binding."""
        if key.startswith("self."):
            owner = scope.class_around(self._program, binding)
            return any(scope.class_around(self._program, one) is owner for one in self.uses.get(key, ()))
        owner_of = self._bindings.owner(key, binding)
        return any(self._bindings.owner(key, one) is owner_of for one in self.uses.get(key, ()))


def sounds_like_device(text: str) -> bool:
    """Whether a name, or the last part of a dotted one, is what a device is called."""
    return text.rpartition(".")[2].lower().strip("_") in _DEVICE_NAMES


def device_arguments(program: Program, call: ast.Call) -> Iterator[ast.expr]:
    """The arguments of a call that are devices: `.to(…)`, `device=`, `map_location=`, `torch.device(…)`."""
    for keyword in call.keywords:
        if keyword.arg in {"device", "map_location"}:
            yield keyword.value
    moves = isinstance(call.func, ast.Attribute) and call.func.attr == "to"
    if call.args and ((moves and may_be_device(program, call.args[0])) or is_device_class(program, call.func)):
        yield call.args[0]


def is_device_class(program: Program, node: ast.expr) -> bool:
    return program.names.qualified(node) == "torch.device"


def may_be_device(program: Program, node: ast.expr) -> bool:
    """Whether the argument of a `.to(…)` may be a device: no dtype (`torch.float16`, `x.dtype`)."""
    text = dotted(node)
    if text is None or (program.names.qualified(node) or "").startswith("torch."):
        return False
    return not text.endswith("dtype")


def _of_text(text: str) -> Verdict:
    if text.partition(":")[0] == "cpu":
        return Verdict.HOST
    return Verdict.DEVICE if _ACCELERATOR.match(text) else Verdict.OTHER


def _may_give_device(node: ast.expr | None) -> bool:
    """Unpacked from something, or given by a call or a reference: no literal that says otherwise, such as an index."""
    if isinstance(node, ast.IfExp | ast.BoolOp):
        parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
        return not any(isinstance(one, ast.Constant) and isinstance(one.value, int) for one in parts)
    return node is None or isinstance(node, (ast.Call, ast.Name, ast.Attribute, ast.Subscript))


def _asks_for_none(test: ast.expr, key: str) -> bool:
    match test:
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return dotted(left) == key
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return dotted(operand) == key
    return False
