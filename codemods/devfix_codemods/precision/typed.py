"""What amp calls are given for the type of a device: a device, a text with a number in it, or a literal `"cuda"`."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.index import Index, closed
from devfix_codemods.edits.operations import AddImport, Argument, Edit, ReplaceExpression, RewriteCall
from devfix_codemods.edits.quotes import quoted
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Node
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.arguments import keyword
from devfix_codemods.precision import api
from devfix_codemods.precision.conditions import Wired, decorates_forward
from devfix_codemods.precision.devices import Devices, Kind, start_of

_TEXT = "`{name}` takes a device type as a string, but `{value}` is a `torch.device`"
_INDEX = "`{name}` takes a device type without an index, but `{value}` {may} have one"
_WIRED = "`{name}` is for CUDA alone: it does nothing for data on another device"
_DECORATOR = "take the device type from the data: `with torch.autocast(x.device.type, …)` inside the method"
_IN_HALF = "take `{code}`, and `enabled={code} == 'cuda'`: on the host float16 would lose what float32 keeps there now"
_HALF = frozenset({"torch.float16", "torch.half"})
_KEYWORD = "`{name}` has no parameter `{wrong}`; it is called `{right}`"


@dataclass(frozen=True, slots=True)
class _Api:
    """One call: the parameter that takes the type, and what it raises for."""

    parameter: str
    wrong: str | None = None
    positional: bool = True
    device_raises: bool = True
    index_matters: bool = True
    index_is_safe: bool = False


_AUTOCAST = _Api("device_type", "device", index_is_safe=True)
_SCALER = _Api("device", "device_type", device_raises=False)
_CUSTOM = _Api("device_type", "device", positional=False)
_AVAILABLE = _Api("device_type", index_matters=False)
_APIS = (
    (api.AUTOCAST, _AUTOCAST),
    (api.GRAD_SCALER, _SCALER),
    (api.CUSTOM, _CUSTOM),
    (api.AVAILABLE, _AVAILABLE),
)


@dataclass(frozen=True, slots=True)
class _Given:
    """A value of a call, where it is written."""

    node: Node
    written: ast.expr


@dataclass(frozen=True, slots=True)
class _Change:
    """Another expression for a device type; `code` keeps the original where it says `__node__`."""

    code: str
    safe: bool
    message: str = ""
    imports: tuple[Edit, ...] = ()


class Types:
    """The device types that the amp calls of one file are given.

    `stays` says why a literal `"cuda"` has to stay where another expression would be right; None where it may go.
    """

    def __init__(self, index: Index, stays: Callable[[str, bool], str | None]) -> None:
        self._index = index
        self._devices = Devices(index)
        self._wired = Wired(index, self._devices)
        self._stays = stays

    def told(self) -> Iterator[Answer]:
        for call in self._index.calls:
            qualified = set(names(call.args[0]))
            known = next((one for all_names, one in _APIS if qualified and qualified <= all_names), None)
            found = self._of_api(call, known) if known is not None else self._of_wrapper(call)
            if found is not None:
                yield found

    def _of_api(self, call: Node, one: _Api) -> Answer | None:
        """What is wrong with the device type of a call."""
        positions = None in call.extras[:1]
        wrong = self._given(call, -1, one.wrong) if one.wrong is not None else None
        if wrong is not None and not positions and keyword(call, one.parameter) is None:
            return self._misnamed(call, wrong, one)
        given = self._given(call, 0 if one.positional else -1, one.parameter)
        change = self._change(given, call, one) if given is not None else None
        if given is not None and change is not None:
            return self._changed(call, given, change)
        return self._for_cuda(call) if one is _AUTOCAST else None

    def _of_wrapper(self, call: Node) -> Answer | None:
        """`device_type=` of a project's own `...Autocast`, which hands it on."""
        given = self._given(call, -1, "device_type")
        if given is None or not self._name(call).lower().endswith("autocast"):
            return None
        indexed = self._devices.kind(given.node, call.guard) is Kind.INDEXED
        change = self._through_device("__node__", False, self._indexed(call, given, "may"))
        return self._changed(call, given, change) if indexed else None

    def _given(self, call: Node, position: int, word: str) -> _Given | None:
        assert isinstance(call.syntax, ast.Call)
        if position == 0 and call.extras[:1] == (None,):
            return _Given(call.args[1], call.syntax.args[0])
        node = keyword(call, word)
        written = next((one.value for one in call.syntax.keywords if one.arg == word), None)
        return _Given(node, written) if node is not None and written is not None else None

    # Another expression

    def _change(self, given: _Given, call: Node, one: _Api) -> _Change | None:
        match given.written:
            case ast.Constant() | ast.JoinedStr():
                return self._of_text(given, call, one)
            case ast.Call(func=ast.Name(id="str"), args=[inner], keywords=[]):
                return self._of_str(_Given(given.node.args[1], inner), call, one)
        kind = self._devices.kind(given.node, call.guard)
        if kind is Kind.DEVICE:
            message = _TEXT.format(name=self._name(call), value=ast.unparse(given.written))
            return _Change("__node__.type", one.device_raises, message)
        if kind is Kind.INDEXED and one.index_matters:
            return self._through_device("__node__", one.index_is_safe, self._indexed(call, given, "may"))
        return None

    def _of_text(self, given: _Given, call: Node, one: _Api) -> _Change | None:
        """`"cuda:0"` and `f"cuda:{rank}"`."""
        if self._devices.kind(given.node, call.guard) is not Kind.INDEXED or not one.index_matters:
            return None
        segment = self._index.text(given.written).lstrip("fFrRuU")
        kind = start_of(given.node).partition(":")[0]
        plain = segment[:1] in "'\"" and segment[:3] not in ("'''", '"""')
        code = f"{segment[0]}{kind}{segment[0]}" if plain else quoted(self._index.source, kind)
        return _Change(code, one.index_is_safe, self._indexed(call, given, "does"))

    def _of_str(self, inner: _Given, call: Node, one: _Api) -> _Change | None:
        """`str(device)`; `str(…)` may also spell an enumeration: only what is called a device is worth a question."""
        kind, text = self._devices.kind(inner.node, call.guard), self._index.text(inner.written)
        sounds = ast.unparse(inner.written).rpartition(".")[2].lower().endswith(("device", "device()"))
        if not one.index_matters or kind is Kind.TYPE or not sounds:
            return None
        message = _INDEX.format(name=self._name(call), value=f"str({ast.unparse(inner.written)})", may="may")
        if kind is Kind.DEVICE:
            return _Change(f"{closed(inner.written, text)}.type", one.index_is_safe, message)
        return self._through_device(text, one.index_is_safe and kind is Kind.INDEXED, message)

    def _through_device(self, code: str, safe: bool, message: str = "") -> _Change:
        """`torch.device(code).type`, and the import that it needs."""
        name = self._torch
        return _Change(f"{name or 'torch'}.device({code}).type", safe, message, () if name else (AddImport("torch"),))

    @cached_property
    def _torch(self) -> str | None:
        """What the file calls torch."""
        finals = self._index.analysis.module.top.finals
        return next((one for one, node in finals.items() if isinstance(one, str) and names(node) == ("torch",)), None)

    def _misnamed(self, call: Node, wrong: _Given, one: _Api) -> Answer:
        change, kind = self._change(wrong, call, one), self._devices.kind(wrong.node, call.guard)
        if (
            change is None
            and kind is None
            and not (isinstance(wrong.written, ast.Attribute) and wrong.node.extra == "type")
        ):
            change = self._through_device("__node__", False)
        text = self._index.text(wrong.written)
        spelt = text
        if change is not None:
            spelt = change.code.replace("__node__.", f"{closed(wrong.written, text)}.").replace("__node__", text)
        assert isinstance(call.syntax, ast.Call)
        arguments = tuple(
            Argument(spelt, one.parameter) if isinstance(each, ast.keyword) and each.value is wrong.written else kept
            for kept, each in zip(api.kept(call.syntax), api.written(call.syntax))
        )
        message = _KEYWORD.format(name=self._name(call), wrong=one.wrong, right=one.parameter)
        edits = (RewriteCall(self._index.span(call), None, arguments), *(change.imports if change is not None else ()))
        safe = change is None or change.safe or kind is not None
        return self._told(call, message, safe, f"call the parameter `{one.parameter}`", edits)

    # A literal for CUDA

    def _for_cuda(self, call: Node) -> Answer | None:
        """A literal `"cuda"` where the data says what is right."""
        given, message = self._given(call, 0, "device_type"), _WIRED.format(name=self._name(call))
        code = self._wired.other_type(call)
        assert isinstance(call.syntax, ast.Call)
        if code is None or given is None:
            return Answer(call.syntax, message, None, _DECORATOR) if decorates_forward(self._index, call) else None
        host_is_left_out = self._wired.type_asked_about(call) is not None
        advice = self._stays(code, host_is_left_out)
        dtype = keyword(call, "dtype")
        if advice is None and not host_is_left_out and dtype is not None and not _HALF.isdisjoint(names(dtype)):
            advice = _IN_HALF.format(code=code)
        if advice is not None:
            return Answer(call.syntax, message, None, advice)
        edit = ReplaceExpression(self._index.source.span(given.written), code)
        return self._told(call, message, False, f"take `{code}`", (edit,))

    # Words

    def _name(self, call: Node) -> str:
        assert isinstance(call.syntax, ast.Call)
        return ast.unparse(call.syntax.func)

    def _indexed(self, call: Node, given: _Given, may: str) -> str:
        return _INDEX.format(name=self._name(call), value=ast.unparse(given.written), may=may)

    def _changed(self, call: Node, given: _Given, change: _Change) -> Answer:
        edit = ReplaceExpression(self._index.source.span(given.written), change.code)
        return self._told(call, change.message, change.safe, "give the device's type", (edit, *change.imports))

    def _told(self, call: Node, message: str, safe: bool, title: str, edits: tuple[Edit, ...]) -> Answer:
        assert isinstance(call.syntax, ast.Call)
        return Answer(call.syntax, message, Fix(Safety.SAFE if safe else Safety.UNSAFE, title, edits))
