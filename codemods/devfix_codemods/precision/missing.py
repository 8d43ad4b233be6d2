"""Calls of `torch.amp` that lack a device type, or have one that a fall-back import refuses."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.index import Index
from devfix_codemods.edits.operations import Argument, Edit, MoveImportedName, ReplaceExpression, RewriteCall
from devfix_codemods.edits.quotes import quoted
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.placement.arguments import argument
from devfix_codemods.precision import api
from devfix_codemods.precision.devices import Devices, Kind
from devfix_codemods.precision.versions import chosen_by_version, exported
from devfix_codemods.project.names import Candidate, Import
from devfix_codemods.project.units import Unit

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


class Missing:
    """The amp calls of one file that lack a device type, or have one that an import refuses."""

    def __init__(self, unit: Unit, index: Callable[[], Index]) -> None:
        self._unit = unit
        self._make_index = index
        self._names = unit.names
        self._source = unit.source
        self._references = list(unit.names.references(unit.source.tree))

    def told(self) -> Iterator[Answer]:
        yield from self._plain()
        yield from self._paired()
        yield from self._scalers()
        yield from self._custom()

    def _plain(self) -> Iterator[Answer]:
        """Calls that certainly mean `torch.amp.autocast`."""
        for node, candidates in self._references:
            call = api.called(self._names, node)
            if call is None or not {one.qualified for one in candidates} <= api.AUTOCAST:
                continue
            if (message := self._fault(call)) and not chosen_by_version(self._names, call):
                edit = self._rewritten(call, self._type(call))
                fix = Fix(Safety.SAFE, "give `autocast` its device type", (edit,), (1, 10))
                yield self._told(call, message, fix)

    def _paired(self) -> Iterator[Answer]:
        """Calls under an import with a fall-back."""
        for pair, references in self._pairs("autocast").items():
            calls = [api.called(self._names, node) for node in references]
            known = [one for one in calls if one is not None and not self._is_guarded(one, pair)]
            lacking = [(one, message) for one in known if (message := self._fault(one))]
            typed = [one for one in known if not self._fault(one) and self._is_typed(one)]
            fix = self._pair_fix(pair, [one for one, _ in lacking], typed, len(known) == len(calls))
            for one, message in lacking:
                yield self._told(one, message, fix)
            if fix is not None and not lacking and typed:
                yield self._told(typed[0], _FALL_BACK, fix)

    def _scalers(self) -> Iterator[Answer]:
        """`GradScaler("cuda")` under an import with a fall-back."""
        for pair, references in self._pairs("GradScaler").items():
            for node in references:
                call = api.called(self._names, node)
                if call is None or api.has_star(call) or self._is_guarded(call, pair):
                    continue
                if api.literal(api.device_argument(call)) != "cuda":
                    continue
                arguments = zip(api.kept(call, _SCALER_ORDER), api.written(call))
                rest = tuple(kept for kept, one in arguments if _value(one) is not api.device_argument(call))
                edit = RewriteCall(self._source.span(call), None, rest)
                yield self._told(call, _SCALER, Fix(Safety.SAFE, "leave the device to the default", (edit,)))

    def _custom(self) -> Iterator[Answer]:
        """`@custom_fwd` and `@custom_bwd` of `torch.amp`, which have lost their default."""
        for node, candidates in self._references:
            if not {one.qualified for one in candidates} <= api.CUSTOM:
                continue
            if (edit := self._custom_edit(node)) and not chosen_by_version(self._names, node):
                name = f"torch.amp.{candidates[0].qualified.rpartition('.')[2]}"
                fix = Fix(Safety.SAFE, f"give `{name}` its device type", (edit,), (2, 4))
                yield self._told(api.called(self._names, node) or node, _MISSING.format(name=name), fix)

    def _custom_edit(self, node: ast.expr) -> Edit | None:
        device = self._cuda
        if api.decorates(self._names, node):
            return ReplaceExpression(self._source.span(node), f"__node__(device_type={device})")
        call = api.called(self._names, node)
        if call is None or api.has_double_star(call) or api.keyword(call, "device_type", "device"):
            return None
        kept = api.kept(call)
        arguments = (*kept[: len(call.args)], Argument(device, "device_type"), *kept[len(call.args) :])
        return RewriteCall(self._source.span(call), None, arguments)

    def _told(self, node: ast.expr, message: str, fix: Fix | None) -> Answer:
        return Answer(node, message, fix, None if fix else _ADVICE)

    def _fault(self, call: ast.Call) -> str | None:
        """What is wrong with the device type of an autocast call, or None."""
        name = ast.unparse(call.func)
        if api.has_star(call) or api.has_double_star(call) or api.keyword(call, "device_type", "device"):
            return None
        if not call.args:
            return _MISSING.format(name=name)
        if self._is_boolean(call.args[0]) or self._is_dtype(call.args[0]):
            return _NOT_TEXT.format(name=name, what=f"`{ast.unparse(call.args[0])}`")
        return None

    def _is_typed(self, call: ast.Call) -> bool:
        """Whether the call certainly has a device type, rather than what the fall-back takes first."""
        device = api.device_argument(call)
        if device is None or api.keyword(call, "device"):
            return False
        return api.keyword(call, "device_type") is not None or self._kind(call) is Kind.TYPE

    def _is_boolean(self, node: ast.expr) -> bool:
        is_constant = isinstance(node, ast.Constant) and isinstance(node.value, bool)
        is_negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        return is_constant or is_negation or isinstance(node, ast.Compare)

    def _is_dtype(self, node: ast.expr) -> bool:
        return self._names.qualified(node) in _DTYPES

    def _rewritten(self, call: ast.Call, device: _Type) -> Edit:
        names = _OLD_ORDER if call.args and self._is_boolean(call.args[0]) else _NEW_ORDER
        first = Argument(device.code, device.keyword)
        return RewriteCall(self._source.span(call), None, (first, *api.kept(call, names)))

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
        new = [one for one in candidates if one.qualified in api.CURRENT[symbol]]
        others = [one for one in candidates if one not in new]
        if not new or len(others) != 1 or api.old(others[0].qualified) != api.Old(symbol, "cuda"):
            return None
        statement = others[0].statement
        return statement if isinstance(statement, ast.ImportFrom) else None

    def _is_guarded(self, call: ast.Call, pair: _Pair) -> bool:
        """Whether `call` stands behind a test that tells which import was taken."""
        if chosen_by_version(self._names, call):
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
        return {one.id for one in ast.walk(outer) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}

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
        if exported(self._unit, pair.name, pair.fall_back):
            return False
        uses = [node for node, candidates in self._references if self._is_from(candidates, pair.fall_back, "autocast")]
        return all(api.called(self._names, node) in known for node in uses)

    def _is_from(self, candidates: tuple[Candidate, ...], statement: Import, symbol: str) -> bool:
        return any(one.statement is statement and one.qualified.endswith(f".{symbol}") for one in candidates)

    def _type(self, call: ast.Call) -> _Type:
        """The device type for `call`, the nearest evidence first."""
        if self._sibling is not None:
            return self._sibling
        if (near := self._near_sibling(call)) is not None:
            return near
        node = self._index.nodes.get(call)
        if node is not None and (device := self._devices.bound_type(node)) is not None:
            return _Type(device)
        if node is not None and (tensor := self._devices.bound_tensor(node)) is not None:
            return _Type(f"{tensor}.device.type")
        return _Type(self._cuda)

    @cached_property
    def _cuda(self) -> str:
        return quoted(self._source, "cuda")

    @cached_property
    def _index(self) -> Index:
        return self._make_index()

    @cached_property
    def _devices(self) -> Devices:
        return Devices(self._index)

    def _kind(self, call: ast.Call) -> Kind | None:
        """What a call has as its device type."""
        node = self._index.nodes.get(call)
        device = argument(node, 0, "device_type") if node is not None else None
        return self._devices.kind(device, node.guard) if node is not None and device is not None else None

    @cached_property
    def _typed(self) -> list[tuple[ast.Call, ast.expr]]:
        """The autocast calls of the file that have a device type, each with it."""
        calls = [api.called(self._names, node) for node, candidates in self._references if _may_be_current(candidates)]
        typed = [(one, api.device_argument(one)) for one in calls if one is not None and not self._fault(one)]
        return [(call, device) for call, device in typed if device is not None]

    @cached_property
    def _sibling(self) -> _Type | None:
        """The literal that all autocast calls of the file agree on, or what its `torch.cuda.amp.autocast` means."""
        if not self._typed and any(_is_old(candidates) for _, candidates in self._references):
            return _Type(self._cuda)
        found = [(call, device) for call, device in self._typed if api.literal(device) is not None]
        texts = {api.literal(device) for _, device in found}
        if len(texts) != 1 or ":" in str(texts) or len(found) < len(self._typed):
            return None
        call, device = found[0]
        return _Type(self._source.segment(self._source.span(device)), _spelt(call))

    def _near_sibling(self, call: ast.Call) -> _Type | None:
        """The `….type` of another autocast, where all of its names are bound at `call` too."""
        node = self._index.nodes.get(call)
        for other, device in self._typed if node is not None else ():
            if isinstance(device, ast.Attribute) and device.attr == "type" and self._kind(other) is Kind.TYPE:
                text = ast.unparse(device.value)
                if node is not None and self._devices.bound(text, node) is Kind.DEVICE:
                    return _Type(f"{text}.type", _spelt(other))
        return None


def _may_be_current(candidates: tuple[Candidate, ...]) -> bool:
    names = {one.qualified for one in candidates}
    return bool(names & api.AUTOCAST) and names <= api.AUTOCAST | {"torch.cuda.amp.autocast"}


def _is_old(candidates: tuple[Candidate, ...]) -> bool:
    return {one.qualified for one in candidates} == {"torch.cuda.amp.autocast"}


def _spelt(call: ast.Call) -> str | None:
    """The keyword under which `call` gives its device type."""
    return None if call.args else "device_type"


def _value(argument: api.Written) -> ast.expr:
    return argument.value if isinstance(argument, ast.keyword) else argument
