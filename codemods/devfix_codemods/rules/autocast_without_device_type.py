"""`torch.amp.autocast` called without the device type that it requires.

## What it does

Gives each call of `torch.autocast` and `torch.amp.autocast` its missing device type, and each `torch.amp.custom_fwd`
and `custom_bwd` too. Which type: what another autocast in the same file has; else the type of a `torch.device` that is
bound on every path to the call; else that of a tensor which the function was given; else `"cuda"`, what
`torch.cuda.amp` meant.

Where `autocast` comes from `torch.amp` or, if that cannot be imported, from `torch.cuda.amp`, no call is right for
both: one requires the device type, the other has no such parameter. There the calls get the type, and the fall-back
becomes `from torch import autocast`, which has taken it since torch 1.10. `GradScaler` needs no device in such a file,
since `torch.amp.GradScaler` assumes `"cuda"`; a `"cuda"` that the fall-back would take for the initial scale is
removed.

## Why it fails

    TypeError: autocast.__init__() missing 1 required positional argument: 'device_type'
    ValueError: Expected `device_type` of type `str`, got: `<class 'bool'>`
    ValueError: Expected `device_type` of type `str`, got: `<class 'torch.dtype'>`

and, where the fall-back import is taken and the call has the type:

    TypeError: autocast.__new__() got multiple values for argument 'enabled'

## Before

    with torch.amp.autocast("cuda", dtype=torch.bfloat16):
        validate(model)
    with torch.amp.autocast(enabled=use_amp, dtype=torch.bfloat16):
        loss = model(batch)

## After

    with torch.amp.autocast("cuda", dtype=torch.bfloat16):
        validate(model)
    with torch.amp.autocast("cuda", enabled=use_amp, dtype=torch.bfloat16):
        loss = model(batch)

## Fix safety

Safe: the call raises whenever it is reached. The calls and the import of a try/except pair are one fix. A call with
`*args` or `**options` may have its type in there and is left alone, and so is one behind a test of torch's version.

## Since torch

`torch.autocast` 1.10.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from devfix_codemods.edits.operations import Argument, Edit, MoveImportedName, ReplaceExpression, RewriteCall
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.flow.names import Candidate, Import
from devfix_codemods.flow.tree import stored
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule, _amp
from devfix_codemods.rules._amp_devices import Devices, Kind

_MISSING = "`{name}` needs the device type as its first argument: this call raises a TypeError"
_NOT_TEXT = "`{name}` takes the device type first, and {what} is no device type: this call raises a ValueError"
_FALL_BACK = (
    "`autocast` may be `torch.cuda.amp.autocast` here, which has no device type: where the fall-back import is taken, "
    "this call raises a TypeError"
)
_SCALER = (
    "`GradScaler` may be `torch.cuda.amp.GradScaler` here, which takes the initial scale first and has no device: "
    "without an argument, both mean CUDA"
)
_ADVICE = (
    "no call suits both imports and `autocast` is used in a way that cannot be rewritten; import `autocast` from "
    "`torch` in the fall-back and give each call its device type"
)
_DTYPES = frozenset({"torch.float16", "torch.half", "torch.bfloat16", "torch.float32", "torch.float"})
_OLD_ORDER = ("enabled", "dtype", "cache_enabled")
_NEW_ORDER = ("dtype", "enabled", "cache_enabled")
_SCALER_ORDER = ("device", "init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled")


@dataclass(frozen=True, slots=True)
class _Pair:
    """A name imported from `torch.amp`, or else from `torch.cuda.amp` by `fall_back`."""

    name: str
    fall_back: ast.ImportFrom


@dataclass(frozen=True, slots=True)
class _Type:
    """The device type to write, and the keyword under which the file writes it."""

    code: str
    keyword: str | None = None


def _check(program: Program) -> Iterator[Finding]:
    checker = _Checker(program)
    yield from checker.plain()
    yield from checker.paired()
    yield from checker.scalers()
    yield from checker.custom()


class _Checker:
    """The amp calls of one file that lack a device type, or have one that an import refuses."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names = program.names
        self._source = program.source
        self._references = list(program.names.references(program.tree))

    def plain(self) -> Iterator[Finding]:
        """Calls that certainly mean `torch.amp.autocast`."""
        for node, candidates in self._references:
            call = _amp.called(self._names, node)
            if call is None or not {one.qualified for one in candidates} <= _amp.AUTOCAST:
                continue
            if (message := self._fault(call)) and not _amp.chosen_by_version(self._names, call):
                edit = self._rewritten(call, self._type(call))
                fix = Fix(Safety.SAFE, "give `autocast` its device type", (edit,), (1, 10))
                yield self._finding(call, message, fix)

    def paired(self) -> Iterator[Finding]:
        """Calls under an import with a fall-back."""
        for pair, references in self._pairs("autocast").items():
            calls = [_amp.called(self._names, node) for node in references]
            known = [one for one in calls if one is not None and not self._is_guarded(one, pair)]
            lacking = [(one, message) for one in known if (message := self._fault(one))]
            typed = [one for one in known if not self._fault(one) and self._is_typed(one)]
            fix = self._pair_fix(pair, [one for one, _ in lacking], typed, len(known) == len(calls))
            for one, message in lacking:
                yield self._finding(one, message, fix)
            if fix is not None and not lacking and typed:
                yield self._finding(typed[0], _FALL_BACK, fix)

    def scalers(self) -> Iterator[Finding]:
        """`GradScaler("cuda")` under an import with a fall-back."""
        for pair, references in self._pairs("GradScaler").items():
            for node in references:
                call = _amp.called(self._names, node)
                if call is None or self._is_guarded(call, pair) or _amp.literal(_amp.device_argument(call)) != "cuda":
                    continue
                arguments = zip(_amp.kept(call, _SCALER_ORDER), _amp.written(call))
                rest = tuple(kept for kept, one in arguments if _value(one) is not _amp.device_argument(call))
                edit = RewriteCall(self._source.span(call), None, rest)
                yield self._finding(call, _SCALER, Fix(Safety.SAFE, "leave the device to the default", (edit,)))

    def custom(self) -> Iterator[Finding]:
        """`@custom_fwd` and `@custom_bwd` of `torch.amp`, which have lost their default."""
        for node, candidates in self._references:
            if not {one.qualified for one in candidates} <= _amp.CUSTOM:
                continue
            if (edit := self._custom_edit(node)) and not _amp.chosen_by_version(self._names, node):
                name = f"torch.amp.{candidates[0].qualified.rpartition('.')[2]}"
                fix = Fix(Safety.SAFE, f"give `{name}` its device type", (edit,), (2, 4))
                yield self._finding(_amp.called(self._names, node) or node, _MISSING.format(name=name), fix)

    def _custom_edit(self, node: ast.expr) -> Edit | None:
        device = self._cuda
        if _amp.decorates(self._names, node):
            return ReplaceExpression(self._source.span(node), f"__node__(device_type={device})")
        call = _amp.called(self._names, node)
        if call is None or _amp.has_double_star(call) or _amp.keyword(call, "device_type", "device"):
            return None
        kept = _amp.kept(call)
        arguments = (*kept[: len(call.args)], Argument(device, "device_type"), *kept[len(call.args) :])
        return RewriteCall(self._source.span(call), None, arguments)

    def _finding(self, node: ast.expr, message: str, fix: Fix | None) -> Finding:
        advice = None if fix else _ADVICE
        return Finding(RULE.code, RULE.name, message, self._source.span(node), fix=fix, advice=advice)

    def _fault(self, call: ast.Call) -> str | None:
        """What is wrong with the device type of an autocast call, or None."""
        name = ast.unparse(call.func)
        if _amp.has_star(call) or _amp.has_double_star(call) or _amp.keyword(call, "device_type", "device"):
            return None
        if not call.args:
            return _MISSING.format(name=name)
        if self._is_boolean(call.args[0]) or self._is_dtype(call.args[0]):
            return _NOT_TEXT.format(name=name, what=f"`{ast.unparse(call.args[0])}`")
        return None

    def _is_typed(self, call: ast.Call) -> bool:
        """Whether the call certainly has a device type, rather than what the fall-back takes first."""
        device = _amp.device_argument(call)
        if device is None or _amp.keyword(call, "device"):
            return False
        return _amp.keyword(call, "device_type") is not None or self._devices.kind(device) is Kind.TYPE

    def _is_boolean(self, node: ast.expr) -> bool:
        is_constant = isinstance(node, ast.Constant) and isinstance(node.value, bool)
        is_negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        return is_constant or is_negation or isinstance(node, ast.Compare)

    def _is_dtype(self, node: ast.expr) -> bool:
        return self._names.qualified(node) in _DTYPES

    def _rewritten(self, call: ast.Call, device: _Type) -> Edit:
        names = _OLD_ORDER if call.args and self._is_boolean(call.args[0]) else _NEW_ORDER
        first = Argument(device.code, device.keyword)
        return RewriteCall(self._source.span(call), None, (first, *_amp.kept(call, names)))

    def _pairs(self, symbol: str) -> dict[_Pair, list[ast.Name | ast.Attribute]]:
        """The references to each `symbol` that is imported from `torch.amp` or else from `torch.cuda.amp`."""
        found: dict[_Pair, list[ast.Name | ast.Attribute]] = {}
        for node, candidates in self._references:
            fall_back = self._fall_back(candidates, symbol)
            if fall_back is not None and isinstance(node, ast.Name):
                found.setdefault(_Pair(node.id, fall_back), []).append(node)
        return found

    def _fall_back(self, candidates: tuple[Candidate, ...], symbol: str) -> ast.ImportFrom | None:
        """The import from `torch.cuda.amp`, where the only other candidates are of `torch.amp`."""
        new = [one for one in candidates if one.qualified in _amp.CURRENT[symbol]]
        others = [one for one in candidates if one not in new]
        if not new or len(others) != 1 or _amp.old(others[0].qualified) != _amp.Old(symbol, "cuda"):
            return None
        statement = others[0].statement
        return statement if isinstance(statement, ast.ImportFrom) else None

    def _is_guarded(self, call: ast.Call, pair: _Pair) -> bool:
        """Whether `call` stands behind a test that tells which import was taken."""
        if _amp.chosen_by_version(self._names, call):
            return True
        flags = self._flags(pair.fall_back)
        tests = [one.test for one in self._names.ancestors(call) if isinstance(one, ast.If | ast.IfExp)]
        return any(isinstance(one, ast.Name) and one.id in flags for test in tests for one in ast.walk(test))

    def _flags(self, statement: Import) -> set[str]:
        """The names that the block around the pair assigns, such as `HAS_TORCH_AMP = False`."""
        around = self._names.parent(statement)
        outer = self._names.parent(around) if isinstance(around, ast.ExceptHandler) else around
        if not isinstance(outer, ast.Try | ast.If):
            return set()
        return stored(outer)

    def _pair_fix(self, pair: _Pair, lacking: list[ast.Call], typed: list[ast.Call], all_known: bool) -> Fix | None:
        """Every call with its device type, and a fall-back that takes it."""
        known = [*lacking, *typed]
        if not known or not all_known or not self._covers(pair, known):
            return None
        edits = [self._rewritten(one, self._type(one)) for one in lacking]
        move = MoveImportedName(self._source.span(pair.fall_back), "autocast", "torch")
        title = "give `autocast` its device type, and import one that takes it in the fall-back"
        return Fix(Safety.SAFE, title, (*edits, move), (1, 10))

    def _covers(self, pair: _Pair, known: list[ast.Call]) -> bool:
        """Whether `known` are all the uses of the imported name, so that another import may stand for it."""
        if _amp.exported(self._program, pair.name, pair.fall_back):
            return False
        uses = [node for node, candidates in self._references if self._is_from(candidates, pair.fall_back, "autocast")]
        return all(_amp.called(self._names, node) in known for node in uses)

    def _is_from(self, candidates: tuple[Candidate, ...], statement: Import, symbol: str) -> bool:
        return any(one.statement is statement and one.qualified.endswith(f".{symbol}") for one in candidates)

    def _type(self, call: ast.Call) -> _Type:
        """The device type for `call`, the nearest evidence first."""
        if self._sibling is not None:
            return self._sibling
        if (near := self._near_sibling(call)) is not None:
            return near
        if (device := self._devices.bound_type(call)) is not None:
            return _Type(device)
        if (tensor := self._devices.bound_tensor(call)) is not None:
            return _Type(f"{tensor}.device.type")
        return _Type(self._cuda)

    @cached_property
    def _cuda(self) -> str:
        return _amp.quoted(self._source, "cuda")

    @cached_property
    def _devices(self) -> Devices:
        return Devices(self._program)

    @cached_property
    def _typed(self) -> list[tuple[ast.Call, ast.expr]]:
        """The autocast calls of the file that have a device type, each with it."""
        calls = [_amp.called(self._names, node) for node, candidates in self._references if _may_be_current(candidates)]
        typed = [(one, _amp.device_argument(one)) for one in calls if one is not None and not self._fault(one)]
        return [(call, device) for call, device in typed if device is not None]

    @cached_property
    def _sibling(self) -> _Type | None:
        """The literal that all autocast calls of the file agree on, or what its `torch.cuda.amp.autocast` means."""
        if not self._typed and any(_is_old(candidates) for _, candidates in self._references):
            return _Type(self._cuda)
        found = [(call, device) for call, device in self._typed if _amp.literal(device) is not None]
        texts = {_amp.literal(device) for _, device in found}
        if len(texts) != 1 or ":" in str(texts) or len(found) < len(self._typed):
            return None
        call, device = found[0]
        return _Type(self._source.segment(self._source.span(device)), _spelt(call))

    def _near_sibling(self, call: ast.Call) -> _Type | None:
        """The `….type` of another autocast, where all of its names are bound at `call` too."""
        for other, device in self._typed:
            if isinstance(device, ast.Attribute) and device.attr == "type" and self._devices.kind(device) is Kind.TYPE:
                key = ast.unparse(device.value)
                if self._devices.is_bound(key, call):
                    return _Type(f"{key}.type", _spelt(other))
        return None


def _may_be_current(candidates: tuple[Candidate, ...]) -> bool:
    names = {one.qualified for one in candidates}
    return bool(names & _amp.AUTOCAST) and names <= _amp.AUTOCAST | {"torch.cuda.amp.autocast"}


def _is_old(candidates: tuple[Candidate, ...]) -> bool:
    return {one.qualified for one in candidates} == {"torch.cuda.amp.autocast"}


def _spelt(call: ast.Call) -> str | None:
    """The keyword under which `call` gives its device type."""
    return None if call.args else "device_type"


def _value(argument: _amp.Written) -> ast.expr:
    return argument.value if isinstance(argument, ast.keyword) else argument


RULE = Rule(
    code="DVF301",
    name="autocast-without-device-type",
    triggers=((b"autocast",), (b"custom_fwd",), (b"custom_bwd",), (b"GradScaler", b"except"), (b"GradScaler", b"else")),
    check=_check,
)
