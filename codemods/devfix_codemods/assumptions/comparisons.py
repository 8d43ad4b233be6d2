"""Comparisons of devices and of their names that never hold, or that miss devices."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.index import Index, called
from devfix_codemods.catalogue import Kind
from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.edits.quotes import quoted
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.guards import comparison
from devfix_codemods.ir.items import choices
from devfix_codemods.ir.keys import key
from devfix_codemods.placement.places import sounds_like_device
from devfix_codemods.repairs.scope import values_of

_TYPES = re.compile(r"(?:cuda|mps|xpu|npu)(?::\d+)?$|cpu$")
_GIVE_DEVICES = (
    *("torch.device", "torch.get_default_device"),
    *("ignite.distributed.device", "ignite.distributed.utils.device"),
)
_NUMBERED = frozenset({"cuda", "xpu", "npu", "mlu", "musa", "mps"})
"""Types whose tensors say a number with their device, also where the device was asked for without one."""
_GPU = re.compile(r"""([fF]?["'])gpu(?=[:"'])""")


def may_compare(data: bytes) -> bool:
    """Whether the bytes of a file allow for any of these."""
    return _COMPARES.search(data) is not None


_COMPARES = re.compile(
    rb"[!=]=\s*[fF]?[\"'](?:cuda|cpu|mps|xpu|npu|gpu)|[\"'](?:cuda|cpu|mps|xpu|npu|gpu)\S*\s*[!=]=|device\(\s*[fF]?[\"']gpu"
    rb"|[!=]=\s*(?:\w+\.)?device\(|device\([^)\n]*\)\s*[!=]=|[\"']cuda[\"'] (?:not )?in "
)


class Comparisons:
    """The comparisons of one file."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._kinds = index.analysis.kinds
        self._births = index.analysis.births

    def told(self) -> Iterator[Answer]:
        for node in sorted(self._index.nodes.values(), key=lambda one: (one.line, one.index)):
            if node.op is Op.COMPARE and isinstance(node.syntax, ast.Compare):
                found = self._of(node, node.syntax)
                if found is not None:
                    yield found
            elif called(node, "torch.device") and isinstance(node.syntax, ast.Call) and node.syntax.args:
                yield from self._called_gpu(node.syntax)

    def pinning(self) -> Iterator[Answer]:
        """Those that decide whether to pin memory."""
        for node in self._index.nodes.values():
            syntax = node.syntax
            if (
                node.op is not Op.COMPARE
                or node.extra not in {("Eq",), ("NotEq",)}
                or not isinstance(syntax, ast.Compare)
            ):
                continue
            sides = list(zip(node.args, (syntax.left, syntax.comparators[0])))
            for (device, written), (other, beside) in (sides, sides[::-1]) if self._pins(syntax) else ():
                if (text := _said(other)) is not None:
                    found = self._typed(syntax, device, written, text)
                    found = found or self._of_caller(syntax, device, written, beside)
                    yield from [found] if found is not None else []

    def _of_caller(self, syntax: ast.Compare, device: Node, written: ast.expr, beside: ast.expr) -> Answer | None:
        """`device != buffer`, of what a caller gives, and of what names the host here."""
        said = getattr(device.syntax, "annotation", None)
        if (
            device.op is not Op.PARAM
            or device.extra != "device"
            or said is not None
            or isinstance(beside, ast.Constant)
        ):
            return None
        name = self._text(written)
        message = f"`{name}` may be a `torch.device`, which equals no string: then this pins for every device"
        return Answer(
            syntax, message, self._fix(f"Compare the text of `{name}`", self._replace(written, f"str({name})"))
        )

    def guards(self) -> Iterator[Answer]:
        """`if model.device == "cpu": model.to(device)`, which decides nothing, of what is moved there."""
        for node in self._index.nodes.values():
            if node.op is not Op.COMPARE or len(node.args) != 2 or node.extra not in {("Eq",), ("NotEq",)}:
                continue
            asked, text = node.args
            if asked.op is Op.ATTR and asked.extra == "device" and text.op is Op.CONST and text.extra == "cpu":
                yield from self._guard(node, asked)

    def _guard(self, test: Node, asked: Node) -> Iterator[Answer]:
        atom, _ = comparison(test)
        base = asked.args[0]
        for call in self._index.calls:
            if not self._births.is_move(call) or call.args[0].args[0] is not base:
                continue
            given = [one for one in call.args[1:] if one.op is Op.ATTR and one.args[0] is base]
            under = any(one == atom for one, _ in call.guard)
            if under and not given and isinstance(asked.syntax, ast.Attribute):
                text = self._text(asked.syntax)
                fix = self._fix(f"Compare the text of `{text}`", self._replace(asked.syntax, f"str({text})"))
                message = (
                    f"`{text}` of what can be moved is a `torch.device`, which equals no string: this decides nothing"
                )
                yield Answer(asked.syntax, message, fix)
                return

    def _of(self, node: Node, syntax: ast.Compare) -> Answer | None:
        operators = node.extras
        if set(operators) <= {"Eq"} and len(operators) > 1:
            return self._chain(node, syntax)
        if operators in {("In",), ("NotIn",)}:
            return self._searched(node, syntax)
        if operators not in {("Eq",), ("NotEq",)}:
            return None
        pairs = ((node.args[0], syntax.left, node.args[1], syntax.comparators[0]),)
        for device, written, other, beside in (*pairs, *((c, d, a, b) for a, b, c, d in pairs)):
            if (text := _said(other)) is not None:
                found = self._with_text(syntax, device, written, text, beside)
            elif called(other, "torch.device") and len(other.args) == 2 and _said(other.args[1]) in _NUMBERED:
                found = self._without_number(syntax, device, written, beside, str(other.args[1].extra))
            else:
                continue
            if found is not None:
                return found
        return None

    # A device, and a text

    def _with_text(
        self, syntax: ast.Compare, device: Node, written: ast.expr, text: str, beside: ast.expr
    ) -> Answer | None:
        name = self._text(written)
        negated = "not " if isinstance(syntax.ops[0], ast.NotEq) else ""
        if text == "gpu":
            return self._gpu(syntax, device, written, beside, negated)
        if called(device, "builtins.str") and text == "cuda" and len(device.args) == 2:
            if not sounds_like_device(name) or self._knows_numbers(device):
                return None
            code = f"{negated}{name}.startswith({quoted(self._index.source, 'cuda')})"
            fix = self._fix("Compare without the number of the card", self._replace(syntax, code))
            return Answer(syntax, f"`{name}` may be `cuda:0`: this comparison takes such a device for the host", fix)
        return self._typed(syntax, device, written, text) if not self._pins(syntax) else None

    def _typed(self, syntax: ast.Compare, device: Node, written: ast.expr, text: str) -> Answer | None:
        if not _TYPES.match(text) or not self.is_device(device):
            return None
        name = self._text(written)
        code = "str(__node__)" if ":" in text else "__node__.type"
        fix = self._fix(f"Compare the type of `{name}`", self._replace(written, code))
        return Answer(syntax, f"`{name}` is a `torch.device`, which equals no string", fix)

    def _gpu(
        self, syntax: ast.Compare, device: Node, written: ast.expr, beside: ast.expr, negated: str
    ) -> Answer | None:
        """Torch calls no device so: of what is moved to, and of what is "cuda" or "cpu" and nothing else."""
        text = self._text(written)
        values = {_said(one) for one in choices(device)}
        fix: Fix | None = None
        if device.op is Op.ATTR and device.extra == "type" and device.args[0].extra == "device":
            fix = self._fix("Ask for CUDA", self._replace(beside, '"cuda"'))
        elif {"cuda"} <= values <= {"cuda", "cpu"}:
            fix = self._fix("Ask for CUDA", self._replace(beside, quoted(self._index.source, "cuda")))
        elif (
            any(key(one) == key(device) for one in self._targets)
            and device.op is Op.ATTR
            and device.args[0].op is Op.REF
        ):
            fix = self._fix("Ask for CUDA", self._replace(syntax, f'{negated}str({text}).startswith("cuda")'))
        return Answer(syntax, f"`{text}` is never `gpu`: torch has no such device", fix) if fix is not None else None

    @property
    def _targets(self) -> Iterator[Node]:
        """What values are moved to, and made on."""
        for node in self._index.calls:
            place = self._births.place_given(node)
            if place is not None and place.node is not None:
                yield place.node

    def _called_gpu(self, call: ast.Call) -> Iterator[Answer]:
        """`torch.device("gpu:%d" % card)`, which raises."""
        text = self._text(call.args[0])
        if _GPU.match(text):
            edit = self._replace(call.args[0], _GPU.sub(r"\1cuda", text, count=1))
            message = "torch has no device called `gpu`: this raises a RuntimeError"
            yield Answer(call, message, Fix(Safety.SAFE, "Name CUDA", (edit,)))

    def _chain(self, node: Node, syntax: ast.Compare) -> Answer | None:
        """`a.device == b.device == "cuda"` as `a.device == b.device and a.is_cuda`."""
        *devices, text = node.args
        first = syntax.left
        if _said(text) not in {"cuda", "cuda:0"} or not isinstance(first, ast.Attribute):
            return None
        if not all(one.op is Op.ATTR and one.extra == "device" for one in devices) or not any(
            map(self.is_device, devices)
        ):
            return None
        same = " == ".join(self._text(one) for one in (first, *syntax.comparators[:-1]))
        edit = self._replace(syntax, f"{same} and {self._text(first.value)}.is_cuda")
        message = f"`{self._text(first)}` is a `torch.device`, which equals no string"
        return Answer(syntax, message, self._fix("Ask a tensor whether it is on CUDA", edit))

    def _searched(self, node: Node, syntax: ast.Compare) -> Answer | None:
        """`"cuda" in device`, of what a caller gives and values are moved to."""
        text, device = node.args
        written = syntax.comparators[0]
        if _said(text) != "cuda" or not sounds_like_device(self._text(written)):
            return None
        values = values_of(device)
        given = [one for one in values if one.op is Op.PARAM]
        spelled = ast.unparse(written)
        moved = any(isinstance(one.syntax, ast.expr) and ast.unparse(one.syntax) == spelled for one in self._targets)
        moved = moved or device in set(self._targets)
        if not moved or not values or len(given) < len(values) or any(map(self._is_text, given)):
            return None
        if any(self._is_converted(one) for one in (*given, device)):
            return None
        name = self._text(written)
        fix = self._fix(f"Search the text of `{name}`", self._replace(written, f"str({name})"))
        return Answer(syntax, f"`{name}` may be a `torch.device`: argument of type 'torch.device' is not iterable", fix)

    def _is_converted(self, device: Node) -> bool:
        """Whether the code makes a text of a device, or asks what it is."""
        return any(
            called(one, "builtins.str", "builtins.isinstance")
            for one in self._index.calls
            if any(key(each) == key(device) for each in one.args[1:2])
        )

    def _is_text(self, parameter: Node) -> bool:
        """Whether a parameter is said to be a text, and known callers give no device: there must be some."""
        said = getattr(parameter.syntax, "annotation", None)
        if said is None or ast.unparse(said).strip("'\"") != "str":
            return False
        given = self._kinds.given.get(parameter, [])
        return bool(given) and not any(map(self.is_device, given))

    # Two devices

    def _without_number(
        self, syntax: ast.Compare, device: Node, written: ast.expr, beside: ast.expr, kind: str
    ) -> Answer | None:
        of_tensor = device.op is Op.ATTR and device.extra == "device" and self._kinds.of(device.args[0]) is Kind.TENSOR
        if device.op not in {Op.PARAM, Op.ATTR, Op.PHI, Op.CALL, Op.FIELD} or (kind != "cuda" and not of_tensor):
            return None
        name = self._text(written)
        message = f"`{name}` may be `{kind}:0`, which does not equal a device without a number"
        advice = "compare the types of the devices"
        if of_tensor or (self.is_device(device) and _may_number(device)):
            literal = "__node__.type"  # of a name for such a device
            if isinstance(beside, ast.Call):
                literal = self._text(beside.args[0] if beside.args else beside.keywords[0].value)
            edits = (self._replace(written, "__node__.type"), self._replace(beside, literal))
            return Answer(syntax, message, Fix(Safety.UNSAFE, "Compare the types", edits), advice)
        if device.op is Op.PARAM and sounds_like_device(name) and isinstance(written, ast.Name):
            return Answer(syntax, message, None, advice)
        return None

    def is_device(self, node: Node, depth: int = 0) -> bool:
        """Whether a value is certainly a `torch.device`, and no text."""
        if called(node, *_GIVE_DEVICES):
            return True
        if node.op is Op.ATTR and node.extra == "device" and self._kinds.of(node.args[0]) is Kind.TENSOR:
            return True
        if node.op is Op.PARAM:
            said = getattr(node.syntax, "annotation", None)
            default = node.function.defaults.get(str(node.extra))
            texts = [one for one in self._kinds.given.get(node, ()) if _is_text(one)]
            plain = default is None or not isinstance(default.extra, str)
            if said is None and default is not None and not texts:
                return self.is_device(default, depth + 1)
            return said is not None and ast.unparse(said) == "torch.device" and plain and not texts
        values = values_of(node) if depth < 3 else []
        return bool(values) and all(one is not node and self.is_device(one, depth + 1) for one in values)

    def _knows_numbers(self, text: Node) -> bool:
        """Whether the function asks the text of a device for the number of a card too, or for how it begins."""
        for one in text.function.nodes:
            if one.op is Op.COMPARE and any(key(each) == key(text) for each in one.args):
                start = "cuda" if "In" in one.extra else "cuda:"  # type: ignore[operator]
                literals = [each.value for each in ast.walk(one.syntax) if isinstance(each, ast.Constant)]  # type: ignore[arg-type]
                if any(isinstance(each, str) and each.startswith(start) for each in literals):
                    return True
            elif one.op is Op.ATTR and one.extra in {"startswith", "split"} and key(one.args[0]) == key(text):
                return True
        return False

    # Words

    def _pins(self, syntax: ast.expr) -> bool:
        """Whether it decides to pin memory, which another rule repairs."""
        statement = next((one for one in self._index.ancestors(syntax) if isinstance(one, ast.stmt)), syntax)
        return "pin_memory" in self._text(statement)

    def _text(self, syntax: ast.AST) -> str:
        return self._index.text(syntax)

    def _replace(self, syntax: ast.expr, code: str) -> Edit:
        return ReplaceExpression(self._index.source.span(syntax), code)

    def _fix(self, title: str, edit: Edit) -> Fix:
        return Fix(Safety.UNSAFE, title, (edit,))


def _said(node: Node) -> str | None:
    """The text that a value is; what is only called so is none."""
    return node.extra if node.op is Op.CONST and isinstance(node.extra, str) else None


def _is_text(node: Node) -> bool:
    return any(_said(one) is not None for one in choices(node)) or isinstance(node.syntax, ast.JoinedStr)


def _may_number(node: Node, depth: int = 0) -> bool:
    """Whether a device may have a number: what a caller or an option says."""
    if depth > 5:
        return False
    if called(node, "torch.device"):
        return len(node.args) > 2 or any(_may_number(one, depth + 1) for one in node.args[1:])
    if node.op is Op.CONST:
        return isinstance(node.extra, str) and ":" in node.extra
    if node.op is Op.PARAM or isinstance(node.syntax, ast.JoinedStr | ast.Subscript):
        return True
    values = values_of(node)
    if node.op is Op.ATTR and values == [node]:
        return True
    return any(one is not node and _may_number(one, depth + 1) for one in values)
