"""Whether a value is a `torch.device`, a text with the number of a device in it, or the type of a device."""

import ast
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cached_property

from devfix_codemods import annotated, catalogue
from devfix_codemods.assumptions.device_sources import may_be_none
from devfix_codemods.assumptions.index import Index, called, method
from devfix_codemods.ir import Function, Guard, Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.ir.nodes import ALWAYS
from devfix_codemods.placement import calls
from devfix_codemods.placement.arguments import is_none, keyword
from devfix_codemods.precision.asked_classes import AskedClasses
from devfix_codemods.repairs.points import Point, before
from devfix_codemods.repairs.scope import values_of

_MAKES = ("torch.device", "torch.get_default_device")
_KNOWN = re.compile(r"(?:cuda(?::\d*)?|cpu)$")
_DEEPEST = 4
_PARTIAL = (ast.For, ast.AsyncFor, ast.While, ast.Try)
"""What may end before all of it has run."""
_NO_TENSORS = frozenset({catalogue.Kind.NUMBER, catalogue.Kind.TEXT, catalogue.Kind.ARRAY, catalogue.Kind.SEQUENCE})


class Kind(Enum):
    """What a device expression evaluates to."""

    DEVICE = "a torch.device"
    INDEXED = "text that may carry an index"
    TYPE = "the text of a type"


class Devices:
    """The devices of one file."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._analysis = index.analysis
        self._kinds = index.analysis.kinds
        self._classes = AskedClasses(index)
        self._open: set[Node] = set()

    def kind(self, node: Node, under: Guard = ALWAYS) -> Kind | None:
        """What a value is under a path condition, or None where that is not certain."""
        if node in self._open:
            return None
        self._open.add(node)
        try:
            found = self._kind(node, under) or (Kind.INDEXED if self._is_numbered(node) else None)
            made = called(node, *_MAKES)
            return None if found is Kind.DEVICE and not made and self._classes.may_be_other(node, under) else found
        finally:
            self._open.discard(node)

    def _kind(self, node: Node, under: Guard) -> Kind | None:
        match node.statement:
            case annotated.Assign(annotation=said, value=value) if value is node.syntax and self._is_device(said):
                made = self._made(node, under)
                return made if made is not None or self._may_be_text(node) else Kind.DEVICE
        return self._made(node, under)

    def _made(self, node: Node, under: Guard) -> Kind | None:
        """What a value is, whatever an annotation says."""
        match node.op:
            case Op.CONST:
                return None if not isinstance(node.extra, str) else Kind.INDEXED if ":" in node.extra else Kind.TYPE
            case Op.UNKNOWN:
                return Kind.INDEXED if start_of(node).endswith(":") else None
            case Op.CALL:
                return self._call(node)
            case Op.PARAM:
                return self._parameter(node)
            case Op.ATTR:
                return self._attribute(node, under)
            case Op.FUNCTION if isinstance(node.extra, Function) and node.extra.is_property:
                return self._returned(node.extra)
            case Op.PHI if isinstance(node.extra, tuple):
                return self._common(zip(node.args, (under | guard for guard in node.extra)))
            case Op.PHI | Op.FIELD:
                return self._common((one, under) for one in values_of(node))
        return None

    def _common(self, values: Iterable[tuple[Node, Guard]]) -> Kind | None:
        """The kind that all of the values are of, each under its path condition."""
        found = {self.kind(one, under) for one, under in values}
        return found.pop() if len(found) == 1 else Kind.INDEXED if found == {Kind.INDEXED, Kind.TYPE} else None

    def _call(self, node: Node) -> Kind | None:
        if called(node, *_MAKES):
            return Kind.DEVICE
        if called(node, "builtins.str") and len(node.args) == 2:
            return Kind.INDEXED if self.kind(node.args[1], node.guard) in {Kind.DEVICE, Kind.INDEXED} else None
        run = self._analysis.calls.get(node)
        return self._returned(run) if run is not None and run.name != "__init__" else None

    def _returned(self, function: Function) -> Kind | None:
        values = [value for value, _ in function.returns]
        if self._is_device(getattr(function.syntax, "returns", None)) and not any(map(self._may_be_text, values)):
            return Kind.DEVICE
        return self._common(function.returns)

    def _parameter(self, node: Node) -> Kind | None:
        default, is_said = node.function.defaults.get(str(node.extra)), self._is_device(_annotation(node))
        found = self.kind(default) if default is not None else Kind.DEVICE if is_said else None
        if is_said and found is not Kind.DEVICE:
            return None
        return None if found is Kind.DEVICE and self._gets_text(node, {node}) else found

    def _gets_text(self, parameter: Node, seen: set[Node]) -> bool:
        """Whether an annotation allows text, or a call of this file gives it."""
        said = _annotation(parameter)
        if said is not None and re.search(r"\bstr\b", ast.unparse(said)) is not None:
            return True
        return any(self._may_be_text(one, seen) for one in self._given.get(parameter, ()))

    @cached_property
    def _given(self) -> dict[Node, list[Node]]:
        """What the calls of this file give each parameter."""
        runs = dict(self._analysis.calls)
        for call in self._index.calls:
            inherited = _of_base(call)
            if inherited is not None:
                runs.setdefault(call, inherited)
        found: dict[Node, list[Node]] = {}
        for call, run in runs.items():
            for argument, parameter in calls.bound(call, run):
                found.setdefault(parameter, []).append(argument)
        return found

    def _may_be_text(self, node: Node, seen: set[Node] | None = None) -> bool:
        """Whether a value is seen to be text, on some path: no annotation makes a device of it."""
        seen = set() if seen is None else seen
        kind = self.kind(node)
        if kind is not None or node in seen:
            return kind not in {Kind.DEVICE, None}
        seen.add(node)
        if isinstance(node.syntax, ast.JoinedStr) or (node.op is Op.CONST and isinstance(node.extra, str)):
            return True
        if node.op is Op.PARAM:
            return self._gets_text(node, seen)
        if node.op is Op.ATTR and (option := self._added(str(node.extra))) is not None and _gives_text(option):
            return True
        return any(self._may_be_text(one, seen) for one in values_of(node))

    def _set_elsewhere(self, read: Node) -> Iterator[Node]:
        """What an attribute gets from outside of its class: `trainer.device = …`, and in the bodies of derived ones."""
        attributes, word = self._analysis.births.attributes, str(read.extra)
        field, owner = attributes.field(read), self._kinds.class_of(read.args[0])
        yield from attributes.stored.get(field, ()) if field is not None else ()
        for one in self._analysis.module.classes if owner is not None else ():
            if word in one.members and owner in one.lineage():
                yield one.members[word]

    def _is_device(self, annotation: ast.expr | None) -> bool:
        """Whether an annotation is `torch.device`."""
        if annotation is None:
            return False
        text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
        head, _, rest = str(text).partition(".")
        bound = self._analysis.module.top.finals.get(head)
        behind = f".{rest}" if rest else ""
        return bound is not None and "torch.device" in {f"{one}{behind}" for one in names(bound)}

    def _attribute(self, node: Node, under: Guard) -> Kind | None:
        base = node.args[0]
        if node.extra == "type":
            return Kind.TYPE if self.kind(base, node.guard) is Kind.DEVICE else None
        if node.extra == "device" and (self._kinds.of(base) is catalogue.Kind.TENSOR or _is_parameter(base)):
            return Kind.DEVICE
        values = values_of(node)
        properties = [one for one in values if one.op is Op.FUNCTION]  # which may say what they return
        if properties or values != [node]:
            return self._common((one, under) for one in (*(properties or values), *self._set_elsewhere(node)))
        kept = base.function.finals.get((base, str(node.extra))) if base.function is not node.function else None
        return self.kind(kept, under) if kept is not None else self._option(str(node.extra))

    def _option(self, attribute: str) -> Kind | None:
        """What `args.device` is by `add_argument("--device", default=…)`: any text, if its default has an index."""
        call = self._added(attribute)
        if call is not None and "torch.device" in _converters(call):
            return Kind.DEVICE
        default = keyword(call, "default") if call is not None and _gives_text(call) else None
        return Kind.INDEXED if default is not None and self.kind(default) is Kind.INDEXED else None

    def _added(self, attribute: str) -> Node | None:
        """The `add_argument("--device")` for an attribute."""
        option = "--" + attribute.replace("_", "-")
        for call in self._index.calls:
            named = {str(one.extra).replace("_", "-") for one in call.args[1:] if one.op is Op.CONST}
            if method(call) == "add_argument" and option in named:
                return call
        return None

    def _is_numbered(self, node: Node) -> bool:
        """Whether the program reads a number from the end of a text: `int(device[-1])`, `int(device.split(":")[1])`."""
        attributes = self._analysis.births.attributes
        fields = [(values, attributes.reads.get(one, [])) for one, values in attributes.stored.items()]
        same = {node, *(one for both in fields if any(node in each for each in both) for each in both for one in each)}
        numbers = (one.args[1] for one in self._index.calls if called(one, "builtins.int") and len(one.args) > 1)
        return any(_text_of(one) in same for one in numbers)

    def is_cuda_or_host(self, node: Node, depth: int = 0) -> bool:
        """Whether a device is chosen between CUDA and the host alone."""
        if called(node, "torch.device") and len(node.args) > 1:
            return self.is_cuda_or_host(node.args[1], depth)
        text = node.extra if node.op is Op.CONST else start_of(node)
        if isinstance(text, str) and text:
            return _KNOWN.match(text) is not None
        values = values_of(node) if depth < _DEEPEST else []
        return values not in ([], [node]) and all(self.is_cuda_or_host(one, depth + 1) for one in values)

    # What is bound

    def bound_type(self, at: Node) -> str | None:
        """The type of a device that is bound on every path to `at`, as an expression."""
        parameters = (one for one in at.function.parameters.values() if self.kind(one, at.guard) is Kind.DEVICE)
        for text in dict.fromkeys([*(str(one.extra) for one in parameters), "device", "self.device"]):
            kind = self.bound(text, at)
            if kind in {Kind.DEVICE, Kind.TYPE}:
                return f"{text}.type" if kind is Kind.DEVICE else text
        return None

    def bound(self, text: str, at: Node) -> Kind | None:
        """The kind of what a dotted name is bound to on every path to `at`."""
        point = before(at)
        head, *rest = text.split(".")
        node = point.binds(head) if point is not None else None
        if point is None or node is None or not self._is_settled(node, at):
            return None
        for attribute in rest:
            found = point.environment.get((node, attribute)) or self._of_object(node, attribute, point)
            if found is None:
                return Kind.DEVICE if attribute == "device" and self._kinds.of(node) is catalogue.Kind.TENSOR else None
            node = found
        return self.kind(node, at.guard)

    def _of_object(self, itself: Node, attribute: str, point: Point) -> Node | None:
        """An attribute that the constructor sets in any case, or a property."""
        function = point.node.function
        owner = function.owner
        if owner is None or itself is not function.self_node or function.name == "__init__":
            return None
        made = calls.method(owner, "__init__")
        stored = made is not None and any(one.key == attribute and not one.guard for one in made.stores)
        return owner.field_of(attribute) if stored or attribute in owner.members else None

    def _is_settled(self, node: Node, at: Node) -> bool:
        """Whether a value is bound wherever control comes to `at`."""
        if node.op is Op.PARAM or node.syntax is node.statement is None:
            return True
        if node.function is not at.function:
            return not node.guard
        assert at.statement is not None
        around = {at.statement, *self._index.ancestors(at.statement)}
        outer = self._index.ancestors(node.statement) if node.statement is not None else ()
        loops = [one for one in outer if isinstance(one, _PARTIAL) and one is not node.syntax]
        return node.guard <= at.guard and around.issuperset(loops)

    def bound_tensor(self, at: Node) -> str | None:
        """A parameter of the function around `at` that is a tensor there, by annotation or use."""
        point = before(at)
        for one in self._tensors(at.function) if point is not None else ():
            name = str(one.extra)
            if point is not None and point.environment.get(name) is one and not may_be_none(self._analysis, one, point):
                return name
        return None

    def _tensors(self, function: Function) -> Iterator[Node]:
        kinds = self._kinds
        is_forward = function.name == "forward" and function.owner in kinds.module_classes
        for one in function.parameters.values():
            sure = kinds.says_surely(one, catalogue.Kind.TENSOR) or is_forward
            mixed = kinds.is_row(one) or any(kinds.says(one, other) for other in _NO_TENSORS)
            asked = any(called(user, "builtins.isinstance", "torch.is_tensor") for user in self._index.users[one])
            other = mixed or asked or self._analysis.is_plain(one) or self._is_given_none(one)
            if kinds.of(one) is catalogue.Kind.TENSOR and sure and not other:
                yield one

    def _is_given_none(self, parameter: Node) -> bool:
        """Whether a caller in this file gives a parameter None, be it on one path."""
        given = self._kinds.given.get(parameter, ())
        return any(is_none(each) for one in given for each in (one, *(one.args if one.op is Op.PHI else ())))


def _annotation(parameter: Node) -> ast.expr | None:
    return getattr(parameter.syntax, "annotation", None)


def _of_base(call: Node) -> Function | None:
    """The method of a base of this file that `super().method(…)` runs."""
    callee, owner = call.args[0], call.function.owner
    if callee.op is not Op.ATTR or owner is None or not called(callee.args[0], "builtins.super"):
        return None
    return next((one.methods[callee.extra] for one in owner.lineage()[1:] if callee.extra in one.methods), None)


def _converters(option: Node) -> tuple[str, ...]:
    """The names of what an `add_argument` converts its text with."""
    converter = keyword(option, "type")
    return names(converter) if converter is not None else ("builtins.str",)


def _gives_text(option: Node) -> bool:
    """Whether an `add_argument` keeps the text as it is."""
    return "builtins.str" in _converters(option)


def start_of(node: Node) -> str:
    """A text, or what a formatted string begins with."""
    match node.syntax:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return text
    return ""


def _is_parameter(node: Node) -> bool:
    """`next(model.parameters())`"""
    return called(node, "builtins.next") and len(node.args) > 1 and method(node.args[1]) == "parameters"


def _text_of(item: Node) -> Node | None:
    """`device` of `device[-1]` and `device.split(":")[1]`."""
    if item.op is not Op.ITEM:
        return None
    text = item.args[0]
    return text.args[0].args[0] if method(text) == "split" else text
