"""A device where mixed precision wants the type of one.

## What it does

Turns what `torch.autocast`, `torch.amp.GradScaler`, `torch.amp.custom_fwd`, `custom_bwd` and `is_autocast_available`
are given into the type of a device: a `torch.device` gets `.type`, `str(device)` becomes `device.type`, `"cuda:0"`
becomes `"cuda"`, and a name that may hold such text goes through `torch.device(...).type`. The keyword is `device_type`
for `autocast` and `device` for `GradScaler`; the one in the place of the other is renamed.

A `with torch.autocast("cuda")` in a function that is given a tensor gets the type of the tensor's device, where nothing
around it speaks of devices; one that is on wherever a device is not the host (`enabled=device.type != "cpu"`, or a test
around it) gets the type of that device. A `forward` kept in float32 by `@torch.autocast("cuda", …)` is reported.

A name counts as a `torch.device` by what is written: an annotation, or `torch.device(...)` assigned to it wherever it
is assigned. Everything else stays as it is.

## Why it fails

    ValueError: Expected `device_type` of type `str`, got: `<class 'torch.device'>`
    RuntimeError: User specified an unsupported autocast device_type 'cuda:0'
    TypeError: autocast.__init__() got an unexpected keyword argument 'device'
    TypeError: GradScaler.__init__() got an unexpected keyword argument 'device_type'
    TypeError: _is_autocast_available(): argument 'device_type' (position 1) must be str, not torch.device

torch 2.4 and later accept `"cuda:0"` in `autocast`, the second message is that of older ones. `custom_fwd` and
`GradScaler` compare their text with `"cuda"`: with an index, `cast_inputs` casts nothing, `update(new_scale)` refuses
the scale, and the scaler stays on where there is no CUDA. An `autocast("cuda")` around data that is elsewhere does
nothing, or does not switch off what is on:

    UserWarning: User provided device_type of 'cuda', but CUDA is not available. Disabling

## Before

    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    with torch.autocast(device, dtype=torch.bfloat16):
        loss = model(batch)

## After

    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    with torch.autocast(device.type, dtype=torch.bfloat16):
        loss = model(batch)

## Fix safety

Safe where the call raises today, and for the index in `autocast`, which newer torch ignores. Unsafe for what works in
another way today (`GradScaler`, an index in `custom_fwd`, a literal `"cuda"`), and where it is not known whether a
name holds text or a `torch.device`: then `torch.device(name).type` is written, which is right for both. A literal
`"cuda"` stays where numpy reads results as they are: on the host, autocast would give bfloat16, which numpy has not;
and in code that provides for a torch older than 2.5, which refuses `autocast("mps")`, even one that is off.

## Since torch

Any release that has the call.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from devfix_codemods.edits.operations import AddImport, Argument, Edit, ReplaceExpression, RewriteCall
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule, _amp
from devfix_codemods.rules._amp_devices import Devices, Kind
from devfix_codemods.rules._amp_wired import computes_for_numpy, decorates_forward, wired_type
from devfix_codemods.rules._older_torch import oldest

_AUTOCAST_OF_MPS = (2, 5)
_TEXT = "`{name}` takes the text of a device's type, and `{value}` is a `torch.device`"
_INDEX = "`{name}` takes a device's type without an index, and `{value}` {may} have one"
_WIRED = "`{name}` is for CUDA alone: it does nothing for data on another device"
_DECORATOR = "take the device type from the data: `with torch.autocast(x.device.type, …)` inside the method"
_READ = (
    "take `{code}`, and read results by `.float().numpy()`: on the host autocast gives bfloat16, which numpy has not"
)
_MPS = "take `{code}` where torch is 2.5 or later: older ones, for which this code is too, refuse it for MPS"
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
    (_amp.AUTOCAST, _AUTOCAST),
    (_amp.GRAD_SCALER, _SCALER),
    (_amp.CUSTOM, _CUSTOM),
    (_amp.AVAILABLE, _AVAILABLE),
)


@dataclass(frozen=True, slots=True)
class _Change:
    """Another expression for a device type; `code` keeps the original where it says `__node__`."""

    code: str
    safe: bool
    message: str
    imports: tuple[Edit, ...] = ()


def _check(program: Program) -> Iterator[Finding]:
    checker = _Checker(program)
    for node, candidates in program.names.references(program.tree):
        names = {one.qualified for one in candidates}
        api = next((api for known, api in _APIS if names <= known), None)
        call = _amp.called(program.names, node)
        if api is not None and call is not None and (finding := checker.finding(call, api)) is not None:
            yield finding
    for call in program.names.calls:
        if (finding := checker.of_wrapper(call)) is not None:
            yield finding


class _Checker:
    """The device types that the amp calls of one file are given."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._source = program.source
        self._devices = Devices(program)

    def finding(self, call: ast.Call, api: _Api) -> Finding | None:
        """What is wrong with the device type of `call`."""
        wrong = _amp.keyword(call, api.wrong) if api.wrong else None
        if wrong is not None and not call.args and not _amp.keyword(call, api.parameter):
            return self._misnamed(call, wrong, api)
        value = self._given(call, api)
        change = self._change(value, call, api) if value is not None else None
        if value is None or change is None:
            return self._wired(call) if api is _AUTOCAST else None
        edit = ReplaceExpression(self._source.span(value), change.code)
        return self._report(call, change.message, change.safe, "give the device's type", (edit, *change.imports))

    def of_wrapper(self, call: ast.Call) -> Finding | None:
        """`device_type=` of a project's own `...Autocast`, which hands it on."""
        given = _amp.keyword(call, "device_type")
        is_own = given is not None and self._program.names.qualified(call.func) not in _amp.AUTOCAST | _amp.CUSTOM
        name = ast.unparse(call.func) if is_own else ""
        if (
            given is None
            or not name.lower().endswith("autocast")
            or self._devices.kind(given.value) is not Kind.INDEXED
        ):
            return None
        code, imports = self._through_device("__node__")
        edit = ReplaceExpression(self._source.span(given.value), code)
        message = self._index_message(call, given.value, "may")
        return self._report(call, message, False, "give the device's type", (edit, *imports))

    def _wired(self, call: ast.Call) -> Finding | None:
        """A literal `"cuda"` where the data says what is right."""
        edit, message = wired_type(self._program, self._devices, call), _WIRED.format(name=ast.unparse(call.func))
        if edit is not None and computes_for_numpy(self._program, self._devices, call):
            return self._advised(call, message, _READ.format(code=edit.code))
        if edit is not None and self._is_for_older_torch:
            return self._advised(call, message, _MPS.format(code=edit.code))
        if edit is not None:
            return self._report(call, message, False, f"take `{edit.code}`", (edit,))
        if decorates_forward(self._program, call):
            return self._advised(call, message, _DECORATOR)
        return None

    def _advised(self, call: ast.Call, message: str, advice: str) -> Finding:
        return Finding(RULE.code, RULE.name, message, self._source.span(call), advice=advice)

    @cached_property
    def _is_for_older_torch(self) -> bool:
        """Whether the code provides for a torch that refuses `autocast("mps")`, even where it is off."""
        older = oldest(self._program)
        return older is not None and older.may_lack(_AUTOCAST_OF_MPS)

    def _given(self, call: ast.Call, api: _Api) -> ast.expr | None:
        if api.positional and call.args:
            return None if isinstance(call.args[0], ast.Starred) else call.args[0]
        found = _amp.keyword(call, api.parameter)
        return found.value if found else None

    def _misnamed(self, call: ast.Call, wrong: ast.keyword, api: _Api) -> Finding:
        change = self._change(wrong.value, call, api) or self._unknown(wrong.value)
        arguments = tuple(
            Argument(self._spelt(wrong.value, change), api.parameter) if one is wrong else kept
            for kept, one in zip(_amp.kept(call), _amp.written(call))
        )
        edit = RewriteCall(self._source.span(call), None, arguments)
        name, imports = ast.unparse(call.func), change.imports if change else ()
        message = _KEYWORD.format(name=name, wrong=wrong.arg, right=api.parameter)
        is_safe = change is None or (change.safe or self._devices.kind(wrong.value) is not None)
        return self._report(call, message, is_safe, f"call the parameter `{api.parameter}`", (edit, *imports))

    def _spelt(self, value: ast.expr, change: _Change | None) -> str:
        original = self._source.segment(self._source.span(value))
        return change.code.replace("__node__", original) if change else original

    def _unknown(self, value: ast.expr) -> _Change | None:
        """For a value of unknown kind: what is right for a `torch.device` and for text."""
        is_type = isinstance(value, ast.Attribute) and value.attr == "type"
        if self._devices.kind(value) is not None or is_type:
            return None
        code, imports = self._through_device("__node__")
        return _Change(code, False, "", imports)

    def _change(self, value: ast.expr, call: ast.Call, api: _Api) -> _Change | None:
        if isinstance(value, ast.Constant | ast.JoinedStr):
            return self._of_text(value, call, api)
        if self._is_str_call(value):
            assert isinstance(value, ast.Call)
            return self._of_str(value.args[0], call, api)
        kind = self._devices.kind(value)
        if kind is Kind.DEVICE:
            message = _TEXT.format(name=ast.unparse(call.func), value=ast.unparse(value))
            return _Change("__node__.type", api.device_raises, message)
        if kind is Kind.INDEXED and api.index_matters:
            code, imports = self._through_device("__node__")
            return _Change(code, api.index_is_safe, self._index_message(call, value, "may"), imports)
        return None

    def _of_text(self, value: ast.expr, call: ast.Call, api: _Api) -> _Change | None:
        """`"cuda:0"` and `f"cuda:{rank}"`."""
        text = _amp.literal(value.values[0] if isinstance(value, ast.JoinedStr) and value.values else value)
        if text is None or ":" not in text or not api.index_matters:
            return None
        kind = text.partition(":")[0]
        code = _amp.quoted(self._source, kind)
        segment = self._source.segment(self._source.span(value)).lstrip("fF")
        if segment[:1] in "'\"" and segment[:3] not in ("'''", '"""'):
            code = f"{segment[0]}{kind}{segment[0]}"
        return _Change(code, api.index_is_safe, self._index_message(call, value, "does"))

    def _of_str(self, inner: ast.expr, call: ast.Call, api: _Api) -> _Change | None:
        """`str(device)`."""
        if not api.index_matters or self._devices.kind(inner) is Kind.TYPE or not _looks_like_device(inner):
            return None
        inside = self._source.segment(self._source.span(inner))
        message = _INDEX.format(name=ast.unparse(call.func), value=f"str({ast.unparse(inner)})", may="may")
        if self._devices.kind(inner) is Kind.DEVICE:
            return _Change(f"{inside}.type", api.index_is_safe, message)
        code, imports = self._through_device(inside)
        return _Change(code, api.index_is_safe and self._devices.kind(inner) is Kind.INDEXED, message, imports)

    def _index_message(self, call: ast.Call, value: ast.expr, may: str) -> str:
        return _INDEX.format(name=ast.unparse(call.func), value=ast.unparse(value), may=may)

    def _is_str_call(self, value: ast.expr) -> bool:
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
            return False
        return value.func.id == "str" and len(value.args) == 1 and not value.keywords

    def _through_device(self, code: str) -> tuple[str, tuple[Edit, ...]]:
        """`torch.device(code).type`, and the import that it needs."""
        for node, _ in self._program.names.references(self._program.tree):
            name = _amp.root(node)
            if name is not None and self._program.names.qualified(name) == "torch":
                return f"{name.id}.device({code}).type", ()
        return f"torch.device({code}).type", (AddImport("torch"),)

    def _report(self, call: ast.Call, message: str, safe: bool, title: str, edits: tuple[Edit, ...]) -> Finding:
        fix = Fix(Safety.SAFE if safe else Safety.UNSAFE, title, edits)
        return Finding(RULE.code, RULE.name, message, self._source.span(call), fix=fix)


def _looks_like_device(node: ast.expr) -> bool:
    """`str(...)` may also spell an enumeration of types: only what is called a device is worth a question."""
    name = ast.unparse(node).rpartition(".")[2]
    return name.lower().endswith(("device", "device()"))


RULE = Rule(
    code="DVF303",
    name="autocast-device-string",
    triggers=((b"autocast",), (b"Autocast", b"device_type"), (b"GradScaler",), (b"custom_fwd",), (b"custom_bwd",)),
    check=_check,
)
