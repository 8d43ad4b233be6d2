"""Whether an expression is a `torch.device`, a text with a device's index in it, or a device's type — by its bindings.

Only what is written counts: annotations, assignments, literals. Where any binding is unknown, so is the name.
"""

import ast
import re
from enum import Enum

from devfix_codemods.program import Program
from devfix_codemods.project.bindings import Binding, Scope


class Kind(Enum):
    """What a device expression evaluates to."""

    DEVICE = "a torch.device"
    INDEXED = "text that may carry an index"
    TYPE = "the text of a type"


class Devices:
    """The device expressions of one file."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names = program.names
        self.bindings = program.bindings
        self._open: set[int] = set()

    def kind(self, node: ast.expr) -> Kind | None:
        """What `node` evaluates to, or None where that is not certain."""
        if id(node) in self._open:
            return None
        self._open.add(id(node))
        try:
            return self._kind(node)
        finally:
            self._open.discard(id(node))

    def _kind(self, node: ast.expr) -> Kind | None:
        match node:
            case ast.Constant(value=str(text)):
                return Kind.INDEXED if ":" in text else Kind.TYPE
            case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]) if text.endswith(":"):
                return Kind.INDEXED
            case ast.IfExp(body=first, orelse=second):
                return _either(self.kind(first), self.kind(second))
            case ast.Call():
                return self._call(node)
            case ast.Attribute(attr="type", value=inner) if self.kind(inner) is Kind.DEVICE:
                return Kind.TYPE
            case ast.Attribute(attr="device", value=inner) if self._is_tensor_expression(inner):
                return Kind.DEVICE
            case ast.Name() | ast.Attribute():
                key = ast.unparse(node)
                return self.named(key, node) or (Kind.INDEXED if self._is_numbered(key, node) else None)
        return None

    def _is_numbered(self, key: str, at: ast.expr) -> bool:
        """Whether the function or class around reads an index from the end of the text: `int(device[-1])`."""
        around = self.bindings.class_of(at) if key.startswith("self.") else self.bindings.scope(at)
        endings = {f"int({key}[-1])", f"int({key}.split(':')[-1])", f"int({key}.split(':')[1])"}
        calls = (one for one in ast.walk(around) if isinstance(one, ast.Call)) if around is not None else ()
        return any(
            isinstance(one.func, ast.Name) and one.func.id == "int" and ast.unparse(one) in endings for one in calls
        )

    def _call(self, node: ast.Call) -> Kind | None:
        if self._names.qualified(node.func) in {"torch.device", "torch.get_default_device"}:
            return Kind.DEVICE
        is_text = isinstance(node.func, ast.Name) and node.func.id == "str" and len(node.args) == 1
        if is_text and self.kind(node.args[0]) in (Kind.DEVICE, Kind.INDEXED):
            return Kind.INDEXED
        return None

    def named(self, key: str, at: ast.AST) -> Kind | None:
        """What a read of the dotted `key` at `at` gives."""
        if key.startswith("self.") and key.count(".") == 1:
            return self._attribute(key, at)
        scope = self.bindings.owner(key, at)
        if scope is None:
            return self._option(key)
        found = self.bindings.of(scope, key)
        if scope is self.bindings.scope(at):
            found = self.bindings.reaching(found, at)
        if "." in key:
            found = found + self._root_bindings(scope, key, found)
        return self._common(found)

    def _option(self, key: str) -> Kind | None:
        """What `args.device` is by `add_argument("--device", default=…)`: any text, if its default has an index."""
        option = "--" + key.partition(".")[2].replace("_", "-")
        for node in ast.walk(self._program.tree) if key.count(".") == 1 else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
                names = [one.value for one in node.args if isinstance(one, ast.Constant)]
                if option in [str(one).replace("_", "-") for one in names]:
                    return self._declared(node)
        return None

    def _declared(self, option: ast.Call) -> Kind | None:
        given = {one.arg: one.value for one in option.keywords}
        converter = given.get("type")
        if converter is not None and self._is_type(converter, "torch.device"):
            return Kind.DEVICE
        is_text = converter is None or (isinstance(converter, ast.Name) and converter.id == "str")
        default = given.get("default")
        is_indexed = is_text and default is not None and self.kind(default) is Kind.INDEXED
        return Kind.INDEXED if is_indexed else None

    def _root_bindings(self, scope: Scope, key: str, found: list[Binding]) -> list[Binding]:
        """New bindings of `args` after the first one of `args.device`: they make the attribute unknown."""
        base = self.bindings.of(scope, key.partition(".")[0])
        first = min((one.start for one in found), default=(0, 0))
        return [Binding(one.node) for one in base if one.start > first]

    def _attribute(self, key: str, at: ast.AST) -> Kind | None:
        owner = self.bindings.class_of(at)
        if owner is None:
            return None
        if self._property(owner, key) is not None:
            return Kind.DEVICE
        return self._common(self.bindings.of_class(owner, key))

    def _common(self, found: list[Binding]) -> Kind | None:
        """The kind that all of `found` give."""
        result: Kind | None = None
        for index, one in enumerate(found):
            kind = self._given(one)
            result = kind if index == 0 else _either(result, kind)
            if result is None:
                return None
        return result

    def _given(self, binding: Binding) -> Kind | None:
        if binding.value is not None:
            known = self.kind(binding.value)
            if known is Kind.DEVICE and isinstance(binding.node, ast.arg) and _may_be_text(binding.annotation):
                return None
            return known if known or isinstance(binding.node, ast.arg) else self._annotation(binding)
        return self._annotation(binding)

    def _annotation(self, binding: Binding) -> Kind | None:
        return Kind.DEVICE if self._is_type(binding.annotation, "torch.device") else None

    def _is_type(self, annotation: ast.expr | None, qualified: str) -> bool:
        if isinstance(annotation, ast.Constant):
            return annotation.value == qualified
        return annotation is not None and self._names.qualified(annotation) == qualified

    def _is_tensor_expression(self, node: ast.expr) -> bool:
        """`next(model.parameters())`, or a parameter that is annotated as a tensor."""
        match node:
            case ast.Call(func=ast.Name(id="next"), args=[ast.Call(func=ast.Attribute(attr="parameters")), *_]):
                return True
            case ast.Name(id=name):
                found = self.bindings.seen(name, node)
                return len(found) == 1 and self._is_type(found[0].annotation, "torch.Tensor")
        return False

    def _property(self, owner: ast.ClassDef, key: str) -> ast.FunctionDef | None:
        """The property that `self.device` reads, if it says that it returns a `torch.device`."""
        for one in owner.body:
            if isinstance(one, ast.FunctionDef) and f"self.{one.name}" == key and one.decorator_list:
                return one if self._is_type(one.returns, "torch.device") else None
        return None


def _may_be_text(annotation: ast.expr | None) -> bool:
    """`device: str = torch.device("cpu")`: callers give either."""
    return annotation is not None and re.search(r"\bstr\b", ast.unparse(annotation)) is not None


def _either(first: Kind | None, second: Kind | None) -> Kind | None:
    if first is second:
        return first
    return Kind.INDEXED if {first, second} == {Kind.INDEXED, Kind.TYPE} else None
